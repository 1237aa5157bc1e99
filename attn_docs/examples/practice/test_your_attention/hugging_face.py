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
report = check_module(gpt2, embed_dim=32, causal=True, adapter=Adapter.huggingface(gpt2))
for finding in report.findings:
    if finding.verdict == "fail" or finding.property in ("oracle", "causality"):
        print(f"{finding.property}: {finding.verdict}: {finding.evidence.split(':')[0]}")
#> runs: fail: batch 3, length 6, not contiguous, with no mask, in evaluation
#> oracle: pass: reproduced with 4 heads of 8
#> causality: pass: no gradient from the future at lengths 2, 3, 6

print(check_module(nn.MultiheadAttention(32, 4), embed_dim=32).verdict)
#> passed
