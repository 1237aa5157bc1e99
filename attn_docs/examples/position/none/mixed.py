import torch
from torch import nn

from attn_docs import MultiHeadAttention, RotaryEmbedding
from attn_docs.model import MLP, Block, DecoderModel

torch.manual_seed(0)
torch.set_grad_enabled(False)
USES_ROPE = [True, True, True, False]  # as SmolLM3: every fourth layer has no positions


def block(rotated):
    rotary = RotaryEmbedding(8) if rotated else None
    attention = MultiHeadAttention(32, 4, rotary=rotary)
    return Block(attention, MLP(32), nn.RMSNorm(32), nn.RMSNorm(32))


model = DecoderModel(50, 32, [block(rotated) for rotated in USES_ROPE], norm=nn.RMSNorm(32))
tokens = torch.randint(50, (2, 12))  # b n
caches = model.new_caches(batch=2, capacity=12)
steps = [model(tokens[:, [t]], caches=caches) for t in range(12)]  # one token at a time
print(torch.allclose(torch.cat(steps, dim=1), model(tokens), atol=1e-5))
#> True
