import torch
import torch.nn.functional as F
from torch import nn

b, n, D, h = 2, 5, 12, 3  # texts, tokens, size of a token's vector, heads
x = torch.randn(b, n, D)
q_proj, k_proj, v_proj, out_proj = (nn.Linear(D, D) for _ in range(4))


def split(t):  # b n D -> b h n d
    return t.view(b, n, h, D // h).transpose(1, 2)


query, key, value = split(q_proj(x)), split(k_proj(x)), split(v_proj(x))  # b h n d
heads = F.scaled_dot_product_attention(query, key, value)  # b h n d: each head for itself
merged = heads.transpose(1, 2).reshape(b, n, D)  # b n D: the heads side by side
output = out_proj(merged)  # b n D

from attn_docs import MultiHeadAttention

ours = MultiHeadAttention(D, h)
ours.q_proj, ours.k_proj, ours.v_proj, ours.out_proj = q_proj, k_proj, v_proj, out_proj
print(torch.allclose(output, ours(x), atol=1e-6))
#> True
print(torch.allclose(output, ours.to_torch()(x, x, x)[0], atol=1e-6))
#> True
