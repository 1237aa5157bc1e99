import torch.nn.functional as F
from torch import nn

from attn_docs.testing import check_module


class MultiHead(nn.Module):
    def __init__(self, embed_dim, num_heads, dropout=0.0):
        super().__init__()
        self.num_heads, self.dropout = num_heads, dropout
        self.qkv_proj = nn.Linear(embed_dim, 3 * embed_dim)  # three projections in one product
        self.out_proj = nn.Linear(embed_dim, embed_dim)

    def forward(self, x, attn_mask=None, is_causal=False):  # b n D
        parts = self.qkv_proj(x).unflatten(-1, (3, self.num_heads, -1))  # b n 3 h d
        query, key, value = parts.permute(2, 0, 3, 1, 4)  # b h n d each
        p = self.dropout if self.training else 0.0  # PyTorch's function does not know
        heads = F.scaled_dot_product_attention(query, key, value, attn_mask, p, is_causal)
        return self.out_proj(heads.transpose(1, 2).flatten(2))  # b n D


report = check_module(MultiHead(32, 4), embed_dim=32, num_heads=4, causal=True)
print(report.verdict)
#> passed
