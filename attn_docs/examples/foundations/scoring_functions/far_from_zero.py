import torch

torch.manual_seed(0)
near = torch.randn(31, 4, dtype=torch.float64)
exact = (near[:1, None] - near[1:]).square().sum(-1)

far = (near + 10_000).float()  # the same points, moved; their distances are the same
q, k = far[:1], far[1:]  # 1 query, 30 keys
differences = (q[:, None] - k).square().sum(-1)
expanded = q.square().sum(-1, keepdim=True) - 2 * q @ k.mT + k.square().sum(-1)
centre = k.mean(0)  # a shift of both changes no distance
a, b = q - centre, k - centre
centred = a.square().sum(-1, keepdim=True) - 2 * a @ b.mT + b.square().sum(-1)
default = torch.cdist(q, k).square()
by_differences = torch.cdist(q, k, compute_mode="donot_use_mm_for_euclid_dist").square()

for name, found in (
    ("differences", differences),
    ("expanded", expanded),
    ("expanded, centred first", centred),
    ("cdist", default),
    ("cdist, told to take differences", by_differences),
):
    print(f"{name:31}  within 0.1: {(found - exact).abs().max().item() < 0.1}")
#> differences                      within 0.1: True
#> expanded                         within 0.1: False
#> expanded, centred first          within 0.1: True
#> cdist                            within 0.1: False
#> cdist, told to take differences  within 0.1: True
