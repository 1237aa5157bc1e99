import torch

from attn_docs import LinearScaling, apply_rotary


def squeeze(x, positions, factor=4):  # position interpolation: 400 tokens where 100 were
    return apply_rotary(x, positions // factor)


x = torch.randn(1, 1, 1, 8).expand(1, 1, 400, 8)  # the same vector everywhere
found = squeeze(x, torch.arange(400))
wanted = apply_rotary(x, torch.arange(400), scaling=LinearScaling(4.0))
for name, some in (("every fourth", slice(0, 400, 4)), ("all", slice(0, 400))):
    print(name, torch.allclose(found[:, :, some], wanted[:, :, some], atol=1e-4))
#> every fourth True
#> all False
