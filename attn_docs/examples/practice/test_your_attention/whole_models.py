# pip install transformers
from transformers import GPT2Config, GPT2Model, LlamaConfig, LlamaModel

from attn_docs.testing import Adapter, check_module

sizes = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "vocab_size": 100}
ends = {"bos_token_id": None, "eos_token_id": None}
llama = LlamaModel(LlamaConfig(**sizes, num_key_value_heads=2, intermediate_size=64))
gpt2 = GPT2Model(GPT2Config(**sizes, **ends))

for model in (llama, gpt2):
    report = check_module(
        model, embed_dim=32, causal=True, positions=True, adapter=Adapter.huggingface(model)
    )
    print(report.headline)
    print("   ", next(f.evidence for f in report.findings if f.property == "oracle"))
#> LlamaModel: passed; formula: judged; 29 pass, 5 not applicable
#>     as it ran, stage by stage: 2 attentions, 4 heads of 8
#> GPT2Model: passed; formula: judged; 1 not judged, 26 pass, 7 not applicable
#>     as it ran, stage by stage: 2 attentions, 4 heads of 8
