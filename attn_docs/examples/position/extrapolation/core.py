import torch

from attn_docs import LinearScaling, NTKScaling, YaRNScaling
from attn_docs.model.induction import load_model

model = load_model()  # rotary positions, trained on texts of 32 tokens
chance = torch.Generator().manual_seed(2)
period = torch.randint(3, 17, (512, 1), generator=chance)
segment = torch.randint(32, (512, 16), generator=chance)
texts = segment.gather(1, torch.arange(257) % period)  # b n: a segment, again and again


@torch.no_grad()
def accuracy(length, rule=None):
    for block in model.blocks:
        block.attention.rotary.scaling = rule
    best = model(texts[:, :length])[:, -8:].argmax(-1)  # b 8: the last predictions
    return (best == texts[:, length - 7 : length + 1]).float().mean().item()


print("length none linear NTK YaRN")
#> length none linear NTK YaRN
for length in (32, 64, 96, 128, 256):
    factor = length / 32
    rules = None, LinearScaling(factor), NTKScaling(factor), YaRNScaling(factor, 32)
    print(f"{length:6}", *(f"{accuracy(length, rule):.2f}" for rule in rules))
#>     32 0.98 0.98 0.98 0.98
#>     64 0.95 0.16 0.95 0.88
#>     96 0.78 0.21 0.89 0.95
#>    128 0.62 0.23 0.66 0.89
#>    256 0.49 0.24 0.61 0.85

from attn_docs.position.extrapolation import changed

with changed(model, window=32):  # the same weights, but nothing beyond 32 tokens is seen
    print(f"{accuracy(256):.2f}")
#> 0.98
