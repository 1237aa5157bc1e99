import torch

from attn_docs import GroupedQueryAttention
from attn_docs import scaled_dot_product_attention as attend

torch.manual_seed(0)
h, g, d = 6, 2, 4
x, context = torch.randn(2, 5, 24), torch.randn(2, 7, 24)  # b n D, b m D
layer = GroupedQueryAttention(24, h, g, bias=False)
w_q = layer.q_proj.weight.unflatten(0, (h, d))  # h d D, each head's transposed
w_k = layer.k_proj.weight.unflatten(0, (g, d))  # g d D
w_v = layer.v_proj.weight.unflatten(0, (g, d))  # g d D

heads = []
for i in range(h):
    j = i * g // h  # the KV head that query head i reads
    query = x @ w_q[i].T  # b n d
    key = context @ w_k[j].T  # b m d
    value = context @ w_v[j].T  # b m d
    heads.append(attend(query, key, value))  # b n d
output = torch.cat(heads, dim=-1) @ layer.out_proj.weight.T  # b n D

print(torch.allclose(layer(x, context), output, atol=1e-6))
#> True
