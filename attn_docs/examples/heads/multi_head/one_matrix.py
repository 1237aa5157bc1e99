import torch

from attn_docs import MultiHeadAttention
from attn_docs import scaled_dot_product_attention as attend

torch.manual_seed(0)
b, n, m, embed_dim, kv_dim, h, d = 2, 5, 7, 12, 10, 3, 4
x, context = torch.randn(b, n, embed_dim).double(), torch.randn(b, m, kv_dim).double()
layer = MultiHeadAttention(embed_dim, h, kv_dim=kv_dim, bias=False).double()

heads = []
for i in range(h):
    rows = slice(i * d, (i + 1) * d)  # head i's rows of the large matrices
    query = x @ layer.q_proj.weight[rows].T  # b n d
    key = context @ layer.k_proj.weight[rows].T  # b m d
    value = context @ layer.v_proj.weight[rows].T  # b m d
    heads.append(attend(query, key, value))  # b n d
output = torch.cat(heads, dim=-1) @ layer.out_proj.weight.T  # b n embed_dim

print(torch.allclose(layer(x, context), output, atol=1e-12))
#> True
