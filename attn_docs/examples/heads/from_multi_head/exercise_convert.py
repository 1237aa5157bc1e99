import torch

from attn_docs import GroupedQueryAttention, grouped_query_to_multi_head
from attn_docs.testing import check_module


def convert(multi, num_kv_heads):
    new = GroupedQueryAttention(24, 6, num_kv_heads, bias=False).requires_grad_(False)
    new.q_proj.weight.copy_(multi.q_proj.weight)
    new.out_proj.weight.copy_(multi.out_proj.weight)
    return new  # your lines: k_proj and v_proj


torch.manual_seed(0)
multi = grouped_query_to_multi_head(GroupedQueryAttention(24, 6, 3, bias=False))  # equal heads
grouped, x = convert(multi, 3), torch.randn(2, 5, 24)
print("a layer:", check_module(grouped, embed_dim=24, causal=True).verdict)
#> a layer: passed
print("this layer:", "passed" if torch.allclose(grouped(x), multi(x), atol=1e-6) else "failed")
#> this layer: failed
