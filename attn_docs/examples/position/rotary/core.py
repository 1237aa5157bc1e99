import torch


def rotate(x, positions, theta=10000.0):  # … n d, and n
    pair = torch.arange(0, x.size(-1), 2, device=x.device)  # d/2: 0, 2, 4, …
    omega = theta ** -(pair / x.size(-1))  # d/2: radians for one position
    angle = positions[:, None] * omega  # n d/2
    cos, sin = angle.cos(), angle.sin()
    a, b = x.chunk(2, dim=-1)  # … n d/2 each: pair i is (a[i], b[i])
    return torch.cat((a * cos - b * sin, a * sin + b * cos), dim=-1).to(x.dtype)  # … n d


torch.manual_seed(0)
query, key, here = torch.randn(5, 8), torch.randn(5, 8), torch.arange(5)
scores = rotate(query, here) @ rotate(key, here).T  # n n
further = rotate(query, here + 1000) @ rotate(key, here + 1000).T  # a thousand tokens later
print(torch.allclose(scores, further, atol=1e-3))
#> True

from attn_docs import apply_rotary

theirs = apply_rotary(query[None, None], here)[0, 0]  # it takes b h n d
print(torch.allclose(rotate(query, here), theirs, atol=1e-6))
#> True
