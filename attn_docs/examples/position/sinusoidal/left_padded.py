import torch
from torch import nn

from attn_docs import MultiHeadAttention, sinusoidal
from attn_docs.model import MLP, Block

torch.manual_seed(0)
torch.set_grad_enabled(False)
embedding = nn.Embedding(20, 16).double()
blocks = [
    Block(MultiHeadAttention(16, 2), MLP(16), nn.LayerNorm(16), nn.LayerNorm(16)).double()
    for _ in range(2)
]


def run(tokens, positions, caches=(None, None), mask=None):
    x = embedding(tokens) + sinusoidal(positions.double(), 16)  # b n D
    for block, cache in zip(blocks, caches, strict=True):
        x = block(x, is_causal=True, cache=cache, attn_mask=mask)
    return x


tokens = torch.randint(20, (2, 9))
full = run(tokens, torch.arange(9))

caches, parts = [block.new_cache(2, 9) for block in blocks], []
for chunk in tokens.split((4, 1, 3, 1), dim=1):  # uneven on purpose
    here = caches[0].length + torch.arange(chunk.size(1))  # before the cache grows
    parts.append(run(chunk, here, caches))
print("with a cache:        ", torch.allclose(torch.cat(parts, dim=1), full))
#> with a cache:         True

real = torch.ones(2, 9).long()
real[1, :3] = 0  # the second text is three tokens shorter
mask = real.bool()[:, None, None]  # b 1 1 m
alone = run(tokens[1:, 3:], torch.arange(6))
counted = (real.cumsum(1) - 1).clamp(min=0)  # b n, from each row's first token
for name, positions in {"own positions:": counted, "from the left:": torch.arange(9)}.items():
    padded = run(tokens, positions, mask=mask)[1:, 3:]
    print(f"padded, {name}", torch.allclose(padded, alone))
#> padded, own positions: True
#> padded, from the left: False

caches = [block.new_cache(2, 9) for block in blocks]
for t in range(9):  # padded and cached: the same positions, the mask as far as the cache goes
    last = run(tokens[:, [t]], counted[:, [t]], caches, mask[..., : t + 1])
print("padded, with a cache:", torch.allclose(last[1:], alone[:, -1:]))
#> padded, with a cache: True
