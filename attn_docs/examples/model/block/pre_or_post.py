import torch
import torch.nn.functional as F
from torch import nn

from attn_docs import MultiHeadAttention
from attn_docs.model import MLP, Block, DecoderModel

D, VOCAB, LENGTH, TEXTS, SEEDS = 64, 100, 32, 8, 3


def gradients(count, *, pre_norm, seed):  # of each block's last matrix, and lengths
    torch.manual_seed(seed)
    blocks = []
    for _ in range(count):
        norms = nn.LayerNorm(D), nn.LayerNorm(D)
        blocks.append(Block(MultiHeadAttention(D, 4), MLP(D), *norms, pre_norm=pre_norm))
    norm = nn.LayerNorm(D) if pre_norm else None
    model = DecoderModel(VOCAB, D, blocks, max_length=LENGTH, norm=norm)
    for matrix in (p for p in model.blocks.parameters() if p.ndim == 2):
        nn.init.xavier_normal_(matrix)
    lengths = []  # of the stream after each block
    for block in model.blocks:
        block.register_forward_hook(lambda *called: lengths.append(called[-1].norm(dim=-1).mean()))
    tokens = torch.randint(VOCAB, (TEXTS, LENGTH + 1))
    logits = model(tokens[:, :-1]).flatten(0, 1)
    F.cross_entropy(logits, tokens[:, 1:].flatten()).backward()
    found = [block.mlp.down_proj.weight.grad.norm() for block in model.blocks]
    return torch.stack([torch.stack(found), torch.stack(lengths)]).detach()


found, lengths = {}, {}
for name, pre_norm in (("pre", True), ("post", False)):
    for count in (2, 8, 32):
        runs = [gradients(count, pre_norm=pre_norm, seed=seed) for seed in range(SEEDS)]
        found[name, count], lengths[name, count] = torch.stack(runs).mean(0)
        first, last = found[name, count][[0, -1]].tolist()
        print(f"{name:4} {count:2} blocks: first {first:.3f}, last {last:.3f}")
#> pre   2 blocks: first 0.148, last 0.131
#> pre   8 blocks: first 0.157, last 0.088
#> pre  32 blocks: first 0.156, last 0.042
#> post  2 blocks: first 0.216, last 0.201
#> post  8 blocks: first 0.281, last 0.208
#> post 32 blocks: first 0.163, last 0.241
long = lengths["pre", 32]
print(f"pre, stream after block 1: {long[0]:.0f}, after block 32: {long[-1]:.0f}")
#> pre, stream after block 1: 13, after block 32: 43
