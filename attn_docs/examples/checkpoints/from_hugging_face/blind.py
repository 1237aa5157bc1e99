import torch
from torch import nn

from attn_docs import GroupedQueryAttention, RotaryEmbedding

torch.set_grad_enabled(False)


def layer(trained, swapped=False, interleaved=False, scale=None, window=16, eps=1e-6):
    torch.manual_seed(0)  # the same weights each time
    rotary = RotaryEmbedding(8, interleaved=interleaved)
    made = GroupedQueryAttention(
        42, 6, 2, head_dim=8, bias=False, rotary=rotary, scale=scale, window=window
    )
    for weight in made.parameters():
        nn.init.normal_(weight, std=0.5)
    made.q_norm, made.k_norm = nn.RMSNorm(8, eps=eps), nn.RMSNorm(8, eps=eps)
    if trained:  # in a new norm each gain is 1
        for norm in (made.q_norm, made.k_norm):
            norm.weight.copy_(torch.randn(8).exp())
    if swapped:
        made.q_norm, made.k_norm = made.k_norm, made.q_norm
    return made


wrong = {
    "norms": {"swapped": True},
    "pairs": {"interleaved": True},
    "scale": {"scale": 9**-0.5},
    "window": {"window": 15},
    "eps": {"eps": 1e-5},
}
inputs = {  # how many tokens, how large they are, whether norms are as after training
    "one token": (1, 1.0, True),
    "fresh norms": (60, 1.0, False),
    "8 tokens": (8, 1.0, True),
    "60 tokens": (60, 1.0, True),
    "60 small": (60, 0.01, True),
}
found = {}
for name, option in wrong.items():
    for n, size, trained in inputs.values():
        x = size * torch.randn(2, n, 42, generator=torch.manual_seed(1))
        right = layer(trained)(x, is_causal=True)
        off = (layer(trained, **option)(x, is_causal=True) - right).norm() / right.norm()
        found.setdefault(name, []).append(off.item())
    told = ("passes" if off < 1e-5 else f"{off:.2f}" for off in found[name])
    print(f"{name:6}", *(f"{word:>7}" for word in told))
#> norms   passes  passes    0.45    0.75    0.75
#> pairs   passes    0.62    0.43    0.95    0.95
#> scale   passes    0.04    0.01    0.02    0.02
#> window  passes    0.19  passes    0.24    0.24
#> eps     passes  passes  passes  passes    0.01
