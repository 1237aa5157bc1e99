import torch

torch.manual_seed(0)
gru = torch.nn.GRU(32, 32, batch_first=True, dtype=torch.float64)


def gradient_at_first_word(make_output, n):
    """Ask how much the output moves with the first of n random words."""
    words = torch.randn(64, n, 32, dtype=torch.float64, requires_grad=True)  # b n D
    (gradient,) = torch.autograd.grad(make_output(words).sum(), words)
    return gradient[:, 0].norm(dim=-1).median().item()


def last_state(words):
    return gru(words)[0][:, -1]


for n in (1, 2, 4, 8, 16, 32):
    print(f"{n:2} words: {gradient_at_first_word(last_state, n):.0e}")
#>  1 words: 1e+00
#>  2 words: 7e-01
#>  4 words: 2e-01
#>  8 words: 3e-02
#> 16 words: 5e-04
#> 32 words: 2e-07
