import torch

from attn_docs import GroupedQueryAttention, MultiHeadAttention, grouped_query_to_multi_head
from attn_docs.testing import check_module


def convert(multi, num_kv_heads):
    new = GroupedQueryAttention(24, 6, num_kv_heads, bias=False).requires_grad_(False)
    new.q_proj.weight.copy_(multi.q_proj.weight)
    new.out_proj.weight.copy_(multi.out_proj.weight)
    return new  # your lines: k_proj and v_proj


torch.manual_seed(0)
equal = grouped_query_to_multi_head(GroupedQueryAttention(24, 6, 3, bias=False))
old, x = MultiHeadAttention(24, 6, bias=False), torch.randn(2, 5, 24)  # arbitrary heads
new = convert(old, 3)
print("a layer:", check_module(new, embed_dim=24, causal=True).verdict)
#> a layer: passed
exact = torch.allclose(convert(equal, 3)(x), equal(x), atol=1e-6)
print("equal heads:", "passed" if exact else "failed")
#> equal heads: failed
means = [layer(x).view(2, 5, 3, 2, 4).mean(3).flatten(2) for layer in (old.k_proj, old.v_proj)]
found = [layer(x) for layer in (new.k_proj, new.v_proj)]
exact = torch.allclose(torch.cat(found), torch.cat(means), atol=1e-6)
print("arbitrary heads:", "passed" if exact else "failed")
#> arbitrary heads: failed
