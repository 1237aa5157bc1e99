# pip install transformers
from torch import nn
from transformers import BertConfig, GPT2Config
from transformers.models.bert.modeling_bert import BertSelfAttention
from transformers.models.gpt2.modeling_gpt2 import GPT2Attention

from attn_docs.testing import Adapter, check_module

sizes = {"hidden_size": 32, "num_attention_heads": 4, "attn_implementation": "eager"}
bert = BertSelfAttention(BertConfig(**sizes))
print(check_module(bert, embed_dim=32, adapter=Adapter.huggingface(bert)).verdict)
#> passed

gpt2 = GPT2Attention(GPT2Config(**sizes), layer_idx=0)
said = {"embed_dim": 32, "causal": True, "adapter": Adapter.huggingface(gpt2)}
report = check_module(gpt2, **said)
print(report.headline)
#> GPT2Attention: failed; formula: judged; 1 fail, 29 pass, 4 not applicable
for finding in report.failures:
    print(f"{finding.property}: {finding.evidence.split(':')[0]}")
#> runs: batch 3, length 6, not contiguous, with no mask, in evaluation
waive = {"runs": "hidden states are contiguous here"}
print(check_module(gpt2, **said, waive=waive).headline)
#> GPT2Attention: passed; formula: judged; 1 waived, 29 pass, 4 not applicable

print(check_module(nn.MultiheadAttention(32, 4), embed_dim=32).verdict)
#> passed
