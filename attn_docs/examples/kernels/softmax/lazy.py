import torch


def online_softmax(scores, values, block, slack):  # n m, m e
    base = scores[:, :block].amax(-1)  # n: what is subtracted, no longer the maximum
    total, mixed, moved = torch.zeros_like(base), 0, 0
    for s, v in zip(scores.split(block, -1), values.split(block), strict=True):
        top = s.amax(-1)  # n
        new = torch.where(top > base + slack, top, base)
        shrink, powers = torch.exp(base - new), torch.exp(s - new[:, None])
        total = shrink * total + powers.sum(-1)  # n
        mixed = shrink[:, None] * mixed + powers @ v  # n e
        moved, base = moved + (new > base).sum().item(), new
    return mixed / total[:, None], moved


torch.manual_seed(0)
scores, values = 3 * torch.randn(64, 4096), torch.randn(4096, 8)
for slack in (0.0, 5.0):
    output, moved = online_softmax(scores, values, 64, slack)
    print(moved, torch.allclose(output, scores.softmax(-1) @ values, atol=1e-6))
#> 237 True
#> 13 True
