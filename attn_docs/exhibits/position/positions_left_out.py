"""Bug: the encoder has learned positions, and never adds them."""

from torch import nn

from attn_docs import MultiHeadAttention


class Encoder(nn.Module):
    def __init__(self, vocab_size, embed_dim, num_heads, max_length):
        super().__init__()
        self.tokens = nn.Embedding(vocab_size, embed_dim)
        self.positions = nn.Embedding(max_length, embed_dim)
        self.attention = MultiHeadAttention(embed_dim, num_heads)

    def forward(self, tokens):  # b n
        x = self.tokens(tokens)  # wrong: + self.positions.weight[: tokens.size(1)]
        return self.attention(x).mean(dim=1)  # b embed_dim: one vector a text
