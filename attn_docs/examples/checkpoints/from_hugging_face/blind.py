from functools import partial

import torch
from torch import nn

from attn_docs import GroupedQueryAttention, RotaryEmbedding, softcap_attention

torch.set_grad_enabled(False)


def layer(
    trained, std, swapped=False, interleaved=False, scale=None, window=16, eps=1e-6, cap=None
):
    torch.manual_seed(0)  # the same weights each time
    parts = {"rotary": RotaryEmbedding(8, interleaved=interleaved), "scale": scale}
    made = GroupedQueryAttention(42, 6, 2, head_dim=8, bias=False, window=window, **parts)
    for weight in made.parameters():
        nn.init.normal_(weight, std=std)
    if cap is not None:  # as in Gemma 2, which has a cap and no norms
        made.attend = partial(softcap_attention, softcap=cap)
        return made
    made.q_norm, made.k_norm = nn.RMSNorm(8, eps=eps), nn.RMSNorm(8, eps=eps)
    if trained:  # in a new norm each gain is 1
        for norm in (made.q_norm, made.k_norm):
            norm.weight.copy_(torch.randn(8).exp())
    if swapped:
        made.q_norm, made.k_norm = made.k_norm, made.q_norm
    return made


wrong = {  # the right options that matter, and the wrong ones
    "norms": ({}, {"swapped": True}),
    "pairs": ({}, {"interleaved": True}),
    "scale": ({}, {"scale": 9**-0.5}),
    "window": ({}, {"window": 15}),
    "eps": ({}, {"eps": 1e-5}),
    "cap": ({"cap": 50.0}, {"cap": 1e9}),
}


def off(options, n, size, trained=True, std=0.02):  # transformers begins with 0.02
    x = size * torch.randn(2, n, 42, generator=torch.manual_seed(1))
    right, other = (layer(trained, std, **which)(x, is_causal=True) for which in options)
    return ((other - right).norm() / right.norm()).item()


inputs = {  # how many tokens, how large they are, whether norms are as after training
    "one token": (1, 1.0, True),
    "fresh norms": (60, 1.0, False),
    "60 tokens": (60, 1.0, True),
    "60 small": (60, 0.01, True),
    "60 large": (60, 10.0, True),
}
found = {}
for name, options in wrong.items():
    found[name] = [off(options, *which) for which in inputs.values()]
    found[name].append(max(off(options, 60, size, std=0.3) for size in (1, 0.01, 10)))
    told = ("passes" if off < 1e-5 else f"{off:.4f}" for off in found[name])
    print(f"{name:6}", *(f"{word:>7}" for word in told))
#> norms   passes  passes  0.7519  0.6474  0.7519  0.7519
#> pairs   passes  0.6242  0.9477  0.9030  0.9477  0.9477
#> scale   passes  0.0351  0.0187  0.0256  0.0187  0.0187
#> window  passes  0.1894  0.2362  0.2408  0.2362  0.2366
#> eps     passes  0.0005  0.0009  0.5944  passes  0.0360
#> cap     passes  passes  passes  passes  0.0024  1.6073
