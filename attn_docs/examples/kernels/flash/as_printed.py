import torch

torch.manual_seed(0)
rows, columns, d = 4, 6, 3  # a tile: B_r queries, B_c keys
q, d_out, output = torch.randn(3, rows, d)
d_scores, d_weights = torch.randn(2, rows, columns)
for name, compute in {
    "dK = Q dSᵀ": lambda: q @ d_scores.T,
    "dK = dSᵀ Q": lambda: d_scores.T @ q,
    "dP - D, D of shape B_r": lambda: d_weights - (d_out * output).sum(-1, keepdim=True),
    "dP - D, D of shape d": lambda: d_weights - (d_out * output).sum(-2, keepdim=True),
}.items():
    try:
        print(f"{name}: shape {tuple(compute().shape)}")
    except RuntimeError:
        print(f"{name}: the shapes do not fit")
#> dK = Q dSᵀ: the shapes do not fit
#> dK = dSᵀ Q: shape (6, 3)
#> dP - D, D of shape B_r: shape (4, 6)
#> dP - D, D of shape d: the shapes do not fit
