import torch
from torch import nn

from attn_docs import MultiHeadAttention
from attn_docs.model import MLP, Block, DecoderModel


def block():
    return Block(MultiHeadAttention(16, 4), MLP(16), nn.LayerNorm(16), nn.LayerNorm(16))


trained = DecoderModel(50, 16, [block(), block()], norm=nn.LayerNorm(16))
nn.init.normal_(trained.norm.weight, 1.0, 0.3)  # as training changes it
tokens = torch.randint(50, (2, 7))

mine = DecoderModel(50, 16, [block(), block()])
print(mine.load_state_dict(trained.state_dict(), strict=False).unexpected_keys)
#> ['norm.weight', 'norm.bias']
mine = DecoderModel(50, 16, [block(), block()], norm=nn.LayerNorm(16))
print(mine.load_state_dict(trained.state_dict()))
#> <All keys matched successfully>
print(torch.allclose(mine(tokens), trained(tokens), atol=1e-6))
#> True
