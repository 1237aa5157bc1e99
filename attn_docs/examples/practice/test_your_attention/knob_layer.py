# pip install transformers
from transformers import Gemma2Config, Gemma3TextConfig
from transformers.models.gemma2.modeling_gemma2 import Gemma2Attention
from transformers.models.gemma3.modeling_gemma3 import Gemma3Attention

from attn_docs.testing import check_module

sizes = {"hidden_size": 32, "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 8}
sizes |= {"num_hidden_layers": 1, "query_pre_attn_scalar": 8, "attn_implementation": "eager"}
for config, Attention in (Gemma2Config, Gemma2Attention), (Gemma3TextConfig, Gemma3Attention):
    layer = Attention(config(**sizes, attn_logit_softcapping=50.0), layer_idx=0)
    report = check_module(layer, embed_dim=32, causal=True)
    print(Attention.__name__, report.verdict)
    for finding in report.failures:
        print(f"    {finding.property}: {finding.cause}")
#> Gemma2Attention passed
#> Gemma3Attention failed
#>     options used: accepted and ignored: attn_logit_softcapping=50.0
