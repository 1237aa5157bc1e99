import torch
import torch.nn.functional as F
from torch import nn

from attn_docs.testing import check_module


class Attention(nn.Module):
    def __init__(self, embed_dim, num_heads):
        super().__init__()
        self.num_heads = num_heads
        self.qkv_proj = nn.Linear(embed_dim, 3 * embed_dim)
        self.out_proj = nn.Linear(embed_dim, embed_dim)

    def forward(self, x, is_causal=False):  # b n D
        positions = torch.arange(x.size(1), dtype=x.dtype)
        x = x + positions[:, None] / x.size(1)  # your lines instead of this one
        qkv = self.qkv_proj(x).unflatten(-1, (3, self.num_heads, -1))  # b n 3 h d
        query, key, value = qkv.permute(2, 0, 3, 1, 4)  # b h n d each
        output = F.scaled_dot_product_attention(query, key, value, is_causal=is_causal)
        return self.out_proj(output.transpose(1, 2).flatten(2))


report = check_module(Attention(32, 4), embed_dim=32, causal=True, positions="added")
print(report.verdict)
#> failed
