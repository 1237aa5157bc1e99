import torch

from attn_docs import GroupedQueryAttention
from attn_docs import scaled_dot_product_attention as attend

torch.manual_seed(0)
h, g, d = 6, 2, 4
r = h // g  # query heads that share a key head
x, context = torch.randn(2, 5, 24), torch.randn(2, 7, 24)
layer = GroupedQueryAttention(24, h, g, bias=False)
w_q = layer.q_proj.weight.unflatten(0, (h, d))  # h d embed_dim, each head's transposed
w_k = layer.k_proj.weight.unflatten(0, (g, d))  # g d embed_dim
w_v = layer.v_proj.weight.unflatten(0, (g, d))  # g d embed_dim

heads = []
for i in range(h):
    query = x @ w_q[i].T  # b n d
    key = context @ w_k[i // r].T  # b m d
    value = context @ w_v[i // r].T  # b m d
    heads.append(attend(query, key, value))  # b n d
output = torch.cat(heads, dim=-1) @ layer.out_proj.weight.T  # b n embed_dim

print(torch.allclose(layer(x, context), output, atol=1e-6))
#> True
