import torch


def gradient_at_first_word(gru, n):
    """Return how much the last state moves with the first of n random words."""
    words = torch.randn(64, n, 32, dtype=torch.float64, requires_grad=True)  # b n D
    (gradient,) = torch.autograd.grad(gru(words)[0][:, -1].sum(), words)
    return gradient[:, 0].norm(dim=-1).median().item()


lengths, found = (1, 2, 4, 8, 16, 32), {}
for size in (32, 256):
    torch.manual_seed(0)
    gru = torch.nn.GRU(32, size, batch_first=True, dtype=torch.float64)
    found[size] = [gradient_at_first_word(gru, n) for n in lengths]

print("words  state of 32  state of 256")
#> words  state of 32  state of 256
for n, small, large in zip(lengths, *found.values(), strict=True):
    print(f"{n:5}  {small:11.0e}  {large:12.0e}")
#>     1        1e+00         1e+00
#>     2        7e-01         7e-01
#>     4        2e-01         2e-01
#>     8        3e-02         4e-02
#>    16        5e-04         8e-04
#>    32        2e-07         7e-07
