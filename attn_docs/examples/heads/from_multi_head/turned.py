import copy

import torch

from attn_docs import MultiHeadAttention, multi_head_to_grouped_query

torch.manual_seed(0)
x = torch.randn(2, 5, 24)
multi = MultiHeadAttention(24, num_heads=4, bias=False)
with torch.no_grad():  # head 1 becomes a copy of head 0, so the mean is exact
    for layer in (multi.k_proj, multi.v_proj):
        layer.weight[6:12] = layer.weight[:6]
        layer.weight[18:] = layer.weight[12:18]

other, rotation = copy.deepcopy(multi), torch.linalg.qr(torch.randn(6, 6)).Q
with torch.no_grad():  # queries and keys of head 1, rotated alike
    for layer in (other.q_proj, other.k_proj):
        layer.weight[6:12] = rotation @ layer.weight[6:12]

print("multi-head:", torch.allclose(other(x), multi(x), atol=1e-6))
#> multi-head: True
for name, module in (("before", multi), ("rotated", other)):
    exact = torch.allclose(multi_head_to_grouped_query(module, 2)(x), module(x), atol=1e-6)
    print(f"{name}: the mean is exact: {exact}")
#> before: the mean is exact: True
#> rotated: the mean is exact: False
