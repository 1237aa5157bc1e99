import torch
import torch.nn.functional as F

torch.manual_seed(0)


def attend(words, query):
    return F.scaled_dot_product_attention(query, words, words)[:, 0]


def gradient_at_first_word(asks, n):
    words = torch.randn(64, n, 32, dtype=torch.float64, requires_grad=True)  # b n D
    query = 2 * words[:, :1].detach() if asks else torch.zeros_like(words[:, :1])
    (gradient,) = torch.autograd.grad(attend(words, query).sum(), words)
    return gradient[:, 0].norm(dim=-1).median().item()


print("words  asks for the first word  asks for nothing")
#> words  asks for the first word  asks for nothing
for n in (1, 2, 4, 8, 16, 32):
    asking, indifferent = (gradient_at_first_word(asks, n) for asks in (True, False))
    print(f"{n:5}  {asking:23.1f}  {indifferent:16.1f}")
#>     1                      5.7               5.7
#>     2                      5.7               2.8
#>     4                      5.7               1.4
#>     8                      5.7               0.7
#>    16                      5.7               0.4
#>    32                      5.6               0.2
