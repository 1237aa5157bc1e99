import torch
import torch.nn.functional as F
from torch import nn

from attn_docs import MultiHeadAttention
from attn_docs.exhibits.model import final_norm_missing, forgotten_residual
from attn_docs.model import MLP, Block, DecoderModel

torch.manual_seed(0)
D = 64
blocks = [
    Block(
        MultiHeadAttention(D, 4, bias=False),  # no biases: they are the same for all tokens
        MLP(D, bias=False),
        nn.LayerNorm(D),
        nn.LayerNorm(D),
    )
    for _ in range(24)
]
model = DecoderModel(100, D, blocks, norm=nn.LayerNorm(D)).requires_grad_(False)
tokens = torch.randint(100, (1, 16))
start = model.token_embedding(tokens)

ways = {
    "right": lambda layer, x: layer(x, is_causal=True),
    "no residual": forgotten_residual.block,
}
alike = {}  # cosines: with the token's own embedding, with the token before
for name, block in ways.items():
    x = start
    for layer in model.blocks:
        x = block(layer, x)
    own = F.cosine_similarity(x, start, dim=-1).mean().item()
    neighbour = F.cosine_similarity(x[:, 1:], x[:, :-1], dim=-1).mean().item()
    alike[name] = own, neighbour
    print(f"own {own:.2f}, neighbour {neighbour:.2f}: {name}")
#> own 0.55, neighbour 0.42: right
#> own 0.00, neighbour 1.00: no residual

spread = model(tokens).std().item(), final_norm_missing.logits(model, tokens).std().item()
print(f"logits spread by {spread[0]:.2f}, without the last norm by {spread[1]:.2f}")
#> logits spread by 0.54, without the last norm by 0.93
