from torch import nn

from attn_docs import MultiHeadAttention
from attn_docs.model import MLP, Block

for D, h in ((768, 12), (1600, 25)):
    block = Block(MultiHeadAttention(D, h), MLP(D), nn.LayerNorm(D), nn.LayerNorm(D))
    print(sum(p.numel() for p in block.parameters()), 12 * D**2 + 13 * D)
#> 7087872 7087872
#> 30740800 30740800
