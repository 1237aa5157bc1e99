import torch
from torch import nn

torch.manual_seed(0)
b, n, D, h = 2, 5, 12, 3  # texts, tokens, size of a token's vector, query heads
x = torch.randn(b, n, D)
q_proj, out_proj = nn.Linear(D, D), nn.Linear(D, D)
k_proj, v_proj = nn.Linear(D, D // h), nn.Linear(D, D // h)  # one KV head

query = q_proj(x).view(b, n, h, D // h).transpose(1, 2)  # b h n d
key, value = k_proj(x)[:, None], v_proj(x)[:, None]  # b 1 n d
weights = (query @ key.mT / (D // h) ** 0.5).softmax(dim=-1)  # b h n n
merged = (weights @ value).transpose(1, 2).reshape(b, n, D)  # b h n d -> b n D
output = out_proj(merged)  # b n D

from attn_docs import MultiQueryAttention

ours = MultiQueryAttention(D, h)
ours.q_proj, ours.k_proj, ours.v_proj, ours.out_proj = q_proj, k_proj, v_proj, out_proj
print(torch.allclose(output, ours(x), atol=1e-6))
#> True
