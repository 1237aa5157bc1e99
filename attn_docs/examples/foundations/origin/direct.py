import torch
import torch.nn.functional as F

torch.manual_seed(0)


def attend(words, query):
    return F.scaled_dot_product_attention(query, words, words)[:, 0]


def gradient_at_first_word(factor, n):
    words = torch.randn(64, n, 32, dtype=torch.float64, requires_grad=True)  # b n D
    query = factor * words[:, :1].detach()
    (gradient,) = torch.autograd.grad(attend(words, query).sum(), words)
    return gradient[:, 0].norm(dim=-1).median().item()


print("words  query: 2 × first word  query: 0")
#> words  query: 2 × first word  query: 0
for n in (1, 2, 4, 8, 16, 32):
    first, uniform = (gradient_at_first_word(factor, n) for factor in (2, 0))
    print(f"{n:5}  {first:21.1f}  {uniform:8.1f}")
#>     1                    5.7       5.7
#>     2                    5.7       2.8
#>     4                    5.7       1.4
#>     8                    5.7       0.7
#>    16                    5.7       0.4
#>    32                    5.6       0.2
