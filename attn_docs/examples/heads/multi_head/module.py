import torch.nn.functional as F
from torch import nn

from attn_docs.testing import Adapter, check_module


class MultiHead(nn.Module):
    def __init__(self, embed_dim, num_heads, dropout=0.0):
        super().__init__()
        self.num_heads, self.dropout = num_heads, dropout
        self.qkv_proj = nn.Linear(embed_dim, 3 * embed_dim)  # three projections in one product
        self.out_proj = nn.Linear(embed_dim, embed_dim)

    def forward(self, x, attn_mask=None, is_causal=False):  # b n D; True in a mask may attend
        parts = self.qkv_proj(x).unflatten(-1, (3, self.num_heads, -1))  # b n 3 h d
        query, key, value = parts.permute(2, 0, 3, 1, 4)  # b h n d each
        if attn_mask is not None and attn_mask.ndim == 3:  # b n n: one mask for each text
            attn_mask = attn_mask[:, None]  # b 1 n n: the same for all its heads
        if attn_mask is not None and is_causal:  # PyTorch's function may refuse both together
            triangle = attn_mask.new_ones(x.size(1), x.size(1)).tril()
            attn_mask, is_causal = attn_mask & triangle, False
        p = self.dropout if self.training else 0.0  # PyTorch's function does not know
        heads = F.scaled_dot_product_attention(query, key, value, attn_mask, p, is_causal)
        return self.out_proj(heads.transpose(1, 2).flatten(2))  # b n D


claims = {"embed_dim": 32, "num_heads": 4, "causal": True, "dropout": 0.1}
for axes in (2, 3, 4):  # n n, b n n and b 1 n n: the checker tries only one unless it is told
    layer = MultiHead(32, 4, dropout=0.1)
    print(axes, check_module(layer, **claims, adapter=Adapter(mask_axes=axes)).verdict)
#> 2 passed
#> 3 passed
#> 4 passed
