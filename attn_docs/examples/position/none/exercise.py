import torch.nn.functional as F
from torch import nn

from attn_docs.testing import check_module


class Attention(nn.Module):
    def __init__(self, embed_dim, num_heads, has_positions):
        super().__init__()
        self.num_heads = num_heads
        self.has_positions = has_positions
        self.positions = nn.Embedding(128, embed_dim)  # a learned vector for each position
        self.qkv_proj = nn.Linear(embed_dim, 3 * embed_dim)
        self.out_proj = nn.Linear(embed_dim, embed_dim)

    def forward(self, x, is_causal=False):  # b n embed_dim
        # your lines: add its own vector to each token, in a layer that has positions
        qkv = self.qkv_proj(x).unflatten(-1, (3, self.num_heads, -1))  # b n 3 h d
        query, key, value = qkv.permute(2, 0, 3, 1, 4)  # b h n d each
        output = F.scaled_dot_product_attention(query, key, value, is_causal=is_causal)
        return self.out_proj(output.transpose(1, 2).flatten(2))


said = {True: {"positions": "added"}, False: {"require": ["permutation"]}}
for entry in (True, False):
    layer = Attention(32, 4, has_positions=False)  # and this one
    print(entry, check_module(layer, embed_dim=32, causal=True, **said[entry]).verdict)
#> True failed
#> False passed
