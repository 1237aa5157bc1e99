import torch

torch.manual_seed(0)
near = torch.randn(6, 4, dtype=torch.float64)
exact = torch.cdist(near[:1], near[1:]).square()

far = (near + 10_000).float()  # the same six points, moved; their distances are the same
q, k = far[:1], far[1:]
differences = (q[:, None] - k).square().sum(-1)
expanded = q.square().sum(-1, keepdim=True) - 2 * q @ k.mT + k.square().sum(-1)

print("differences", (differences - exact).abs().max().item() < 0.1)
#> differences True
print("expanded   ", (expanded - exact).abs().max().item() < 0.1)
#> expanded    False
