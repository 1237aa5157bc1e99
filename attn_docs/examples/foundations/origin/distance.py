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
    print(f"{n:5}  {small:11.1e}  {large:12.1e}")
#>     1      1.1e+00       1.4e+00
#>     2      6.6e-01       6.8e-01
#>     4      2.3e-01       2.3e-01
#>     8      3.3e-02       3.6e-02
#>    16      5.3e-04       8.3e-04
#>    32      1.7e-07       7.3e-07
