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

aligned, rows = copy.deepcopy(other), other.k_proj.weight
left, _, right = torch.linalg.svd(rows[:6] @ rows[6:12].T)
with torch.no_grad():  # the cure: the rotation that brings head 1 nearest to head 0
    for layer in (aligned.q_proj, aligned.k_proj):
        layer.weight[6:12] = left @ right @ layer.weight[6:12]

for name, module in (("before", multi), ("rotated", other), ("aligned", aligned)):
    exact = torch.allclose(multi_head_to_grouped_query(module, 2)(x), module(x), atol=1e-5)
    print(f"{name}: the mean is exact: {exact}")
#> before: the mean is exact: True
#> rotated: the mean is exact: False
#> aligned: the mean is exact: True
