import torch.nn.functional as F
from torch import nn

from attn_docs.testing import check_module


class MultiHead(nn.Module):
    def __init__(self, embed_dim, num_heads):
        super().__init__()
        self.num_heads = num_heads
        self.qkv_proj = nn.Linear(embed_dim, 3 * embed_dim)
        self.out_proj = nn.Linear(embed_dim, embed_dim)

    def forward(self, x, attn_mask=None):  # b n D; boolean, 2 or 3 axes
        query, key, value = self.qkv_proj(x).chunk(3, dim=-1)  # b n D: one head so far
        return self.out_proj(F.scaled_dot_product_attention(query, key, value, attn_mask))


print(check_module(MultiHead(16, 4), embed_dim=16, num_heads=4).verdict)
#> failed
