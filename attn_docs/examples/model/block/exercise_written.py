from torch import nn

from attn_docs import MultiHeadAttention
from attn_docs.testing import check_module


class MyBlock(nn.Module):
    def __init__(self, embed_dim, num_heads):
        super().__init__()
        self.attention = MultiHeadAttention(embed_dim, num_heads)
        self.up_proj = nn.Linear(embed_dim, 4 * embed_dim)
        self.down_proj = nn.Linear(4 * embed_dim, embed_dim)

    def norm(self, x):  # b n D
        centred = x - x.mean(-1, keepdim=True)
        variance = centred.square().mean(-1, keepdim=True)
        return centred / (variance + 1e-5).sqrt()

    def forward(self, x):
        x = x + self.attention(self.norm(x), is_causal=True)
        return x + self.down_proj(nn.functional.gelu(self.up_proj(self.norm(x))))


print(check_module(MyBlock(16, 4), embed_dim=16, num_heads=4, causal=True).verdict)
#> passed
