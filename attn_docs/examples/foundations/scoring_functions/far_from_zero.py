import torch

torch.manual_seed(0)
near = torch.randn(31, 4, dtype=torch.float64)
exact = (near[:1, None] - near[1:]).square().sum(-1)

far = (near + 10_000).float()  # the same points, moved; their distances are the same
q, k = far[:1], far[1:]  # 1 query, 30 keys


def expanded(q, k):
    return q.square().sum(-1, keepdim=True) - 2 * q @ k.mT + k.square().sum(-1)


for name, found in (
    ("differences", (q[:, None] - k).square().sum(-1)),
    ("expanded", expanded(q, k)),
    ("expanded, centred first", expanded(q - k.mean(0), k - k.mean(0))),
):
    error = (found - exact).abs().max().item() / exact.mean().item()
    print(f"{name:23}  {'useless' if error > 1 else 'good' if error < 0.01 else 'poor'}")
#> differences              good
#> expanded                 useless
#> expanded, centred first  good
