import torch.nn.functional as F
from torch import nn

from attn_docs.testing import check_module


class Attention(nn.Module):
    def __init__(self, embed_dim, num_heads, rotates):
        super().__init__()
        self.num_heads = num_heads
        self.rotates = rotates
        self.qkv_proj = nn.Linear(embed_dim, 3 * embed_dim)
        self.out_proj = nn.Linear(embed_dim, embed_dim)

    def forward(self, x, is_causal=False):  # b n embed_dim
        qkv = self.qkv_proj(x).unflatten(-1, (3, self.num_heads, -1))  # b n 3 h d
        query, key, value = qkv.permute(2, 0, 3, 1, 4)  # b h n d each
        # your lines: apply_rotary of attn_docs, in the layers that rotate
        output = F.scaled_dot_product_attention(query, key, value, is_causal=is_causal)
        return self.out_proj(output.transpose(1, 2).flatten(2))


said = {1: {"positions": "rotary"}, 0: {"require": ["permutation"]}}
for entry in (1, 0):  # of no_rope_layers
    layer = Attention(32, 4, rotates=False)  # and this one
    print(entry, check_module(layer, embed_dim=32, causal=True, **said[entry]).verdict)
#> 1 failed
#> 0 passed
