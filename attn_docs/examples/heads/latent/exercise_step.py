import torch
import torch.nn.functional as F
from torch import nn

from attn_docs.testing import Adapter, check_module


class Latent(nn.Module):  # causal, without positions
    def __init__(self, embed_dim, num_heads=2, kv_rank=8):
        super().__init__()
        self.q_proj = nn.Linear(embed_dim, embed_dim, bias=False)
        self.kv_a_proj = nn.Linear(embed_dim, kv_rank, bias=False)
        self.up = nn.Parameter(torch.randn(2, num_heads, kv_rank, embed_dim // num_heads))

    def forward(self, x):  # the naive form, without a cache
        (w_uk, w_uv), c = self.up, self.kv_a_proj(x)[:, None]  # h d_c d, h d_c d, b 1 n d_c
        query = self.q_proj(x).unflatten(-1, (len(w_uk), -1)).transpose(1, 2)  # b h n d
        heads = F.scaled_dot_product_attention(query, c @ w_uk, c @ w_uv, is_causal=True)
        return heads.transpose(1, 2).flatten(2)

    def step(self, x, cached):  # the next n tokens, and b 1 m d_c of earlier ones, or None
        return self(x), cached  # write the absorbed form; return the output and what is cached


report = check_module(Latent(16), embed_dim=16, causal=True, adapter=Adapter(step=Latent.step))
print(report.verdict)
#> failed
