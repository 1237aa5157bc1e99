"""Bug: a decoder of one layer is left to the causal mask, which does not tell it the order."""

from torch import nn

from attn_docs import MultiHeadAttention
from attn_docs.model import MLP, Block, DecoderModel


def decoder(vocab_size, embed_dim, num_heads):
    rotary = None  # wrong: RotaryEmbedding(embed_dim // num_heads)
    attention = MultiHeadAttention(embed_dim, num_heads, rotary=rotary)
    norms = nn.LayerNorm(embed_dim), nn.LayerNorm(embed_dim)
    block = Block(attention, MLP(embed_dim), *norms)
    return DecoderModel(vocab_size, embed_dim, [block], norm=nn.LayerNorm(embed_dim))
