import torch

from attn_docs import (
    GroupedQueryAttention,
    grouped_query_to_multi_head,
    multi_head_to_grouped_query,
)

torch.manual_seed(0)
x = torch.randn(2, 5, 24, dtype=torch.float64)
grouped = GroupedQueryAttention(24, num_heads=6, num_kv_heads=2).double()

multi = grouped_query_to_multi_head(grouped)  # each key and value head three times
print("expanded: ", torch.allclose(multi(x), grouped(x), rtol=0, atol=1e-12))
#> expanded:  True
again = multi_head_to_grouped_query(multi, num_kv_heads=2)  # the heads of a group are equal
print("and back: ", torch.allclose(again(x), multi(x), rtol=0, atol=1e-12))
#> and back:  True
grouped(x).square().sum().backward()
multi(x).square().sum().backward()
copies = multi.k_proj.weight.grad.view(2, 3, 4, 24)  # g h/g d D
total = copies.sum(1).flatten(0, 1)
print("gradients:", torch.allclose(total, grouped.k_proj.weight.grad, rtol=0, atol=1e-12))
#> gradients: True
with torch.no_grad():
    multi.k_proj.weight[0] += 1  # one row of one copy
again = multi_head_to_grouped_query(multi, num_kv_heads=2)
print("one row changed:", torch.allclose(again(x), multi(x), rtol=0, atol=1e-12))
#> one row changed: False
