import torch
from torch import nn

from attn_docs import sinusoidal

torch.manual_seed(0)
D = 512
place = sinusoidal(torch.arange(100), D)
ways = {
    "rows of 1/√D": torch.randn(1000, D) / D**0.5,
    "the same, times √D": torch.randn(1000, D),
    "nn.Embedding": nn.Embedding(1000, D).weight.detach(),
    "nn.Embedding, times √D": nn.Embedding(1000, D).weight.detach() * D**0.5,
}
print(f"{'position':24} length {place.norm(dim=-1).mean():.1f}")
#> position                 length 16.0
for name, rows in ways.items():
    x = rows[:100] + place
    share = place.square().sum() / (rows[:100].square().sum() + place.square().sum())
    print(f"{name:24} length {rows.norm(dim=-1).mean():5.1f}, share of position {share:.2f}")
#> rows of 1/√D             length   1.0, share of position 1.00
#> the same, times √D       length  22.6, share of position 0.33
#> nn.Embedding             length  22.6, share of position 0.33
#> nn.Embedding, times √D   length 512.0, share of position 0.00
