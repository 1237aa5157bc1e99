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
        parts = self.qkv_proj(x).chunk(3, dim=-1)  # b n D each
        query, key, value = (
            part.unflatten(2, (self.num_heads, -1)).transpose(1, 2) for part in parts
        )  # b h n d
        if attn_mask is not None and attn_mask.dim() == 3:
            attn_mask = attn_mask[:, None]  # b 1 n n: the same for each head
        heads = F.scaled_dot_product_attention(query, key, value, attn_mask)  # b h n d
        return self.out_proj(heads.transpose(1, 2).flatten(2))


print(check_module(MultiHead(16, 4), embed_dim=16, num_heads=4).verdict)
#> passed
