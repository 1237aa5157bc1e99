import copy

import torch

from attn_docs import MultiHeadAttention, multi_head_to_grouped_query

torch.manual_seed(0)
x = torch.randn(2, 5, 24)
multi = MultiHeadAttention(24, num_heads=4)
order = [0, 2, 1, 3]  # heads 0 and 2 become neighbours

other = copy.deepcopy(multi)
with torch.no_grad():
    for layer in (other.q_proj, other.k_proj, other.v_proj):
        for rows in layer.parameters():  # weight and bias
            rows.copy_(rows.unflatten(0, (4, 6))[order].flatten(0, 1))
    columns = other.out_proj.weight
    columns.copy_(columns.unflatten(1, (4, 6))[:, order].flatten(1))

print("multi-head:", torch.allclose(other(x), multi(x), atol=1e-6))
#> multi-head: True
one, two = multi_head_to_grouped_query(multi, 2), multi_head_to_grouped_query(other, 2)
print("converted: ", torch.allclose(two(x), one(x), atol=1e-6))
#> converted:  False
