import torch
from torch import nn

from attn_docs import GroupedQueryAttention, RotaryEmbedding

torch.set_grad_enabled(False)


def layer(trained, swapped=False, interleaved=False, scale=None, window=16):
    torch.manual_seed(0)  # the same weights each time
    rotary = RotaryEmbedding(8, interleaved=interleaved)
    made = GroupedQueryAttention(42, 6, 2, head_dim=8, rotary=rotary, scale=scale, window=window)
    for weight in made.parameters():
        nn.init.normal_(weight, std=0.3)
    gains = torch.randn(2, 8).exp() if trained else torch.ones(2, 8)
    norms = [nn.RMSNorm(8), nn.RMSNorm(8)]
    for norm, gain in zip(norms, gains.flip(0) if swapped else gains, strict=True):
        norm.weight.copy_(gain)
    made.q_norm, made.k_norm = norms
    return made


wrong = {
    "norms swapped": {"swapped": True},
    "other pairs": {"interleaved": True},
    "scale": {"scale": 9**-0.5},
    "window": {"window": 15},
}
print(f"{'':13}  one token   fresh norms   8 tokens   60, all random")
#>                one token   fresh norms   8 tokens   60, all random
for name, option in wrong.items():
    off = []
    for n, trained in ((1, True), (60, False), (8, True), (60, True)):
        x = torch.randn(2, n, 42, generator=torch.manual_seed(1))
        right = layer(trained)(x, is_causal=True)
        found = layer(trained, **option)(x, is_causal=True)
        off.append(((found - right).norm() / right.norm()).item())
    print(f"{name:13}  {off[0]:9.2f}   {off[1]:11.2f}   {off[2]:8.2f}   {off[3]:14.2f}")
#> norms swapped       0.00          0.00       0.24             0.36
#> other pairs         0.00          0.60       0.21             0.39
#> scale               0.00          0.04       0.01             0.02
#> window              0.00          0.19       0.00             0.28
