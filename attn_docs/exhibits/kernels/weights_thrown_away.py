"""Bug: the weights are asked for, by default, and thrown away."""

from torch import nn


class Block(nn.Module):
    def __init__(self, embed_dim=16, num_heads=4):
        super().__init__()
        self.attention = nn.MultiheadAttention(embed_dim, num_heads, batch_first=True)

    def forward(self, x):
        output, _ = self.attention(x, x, x)  # wrong: self.attention(x, x, x, need_weights=False)
        return x + output
