import torch

from attn_docs.sentence import KINDS, labelled, projections

w_q, w_k, _ = projections(sharpness=4.0)
wanted = (w_q @ w_k.T)[:4, :4].softmax(-1)  # who gives which share to whom


def train(seed):
    """Learn factors whose product gives these weights; only the random start differs."""
    torch.manual_seed(seed)
    a, b = (torch.randn(4, 2, requires_grad=True) for _ in range(2))  # W_Q and W_K, d = 2
    optimizer = torch.optim.Adam([a, b], lr=0.1)
    for _ in range(400):
        loss = -(wanted * (a @ b.T).log_softmax(-1)).sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return a.detach(), b.detach()

found = [train(seed) for seed in (0, 1)]
for w_q, w_k in found:
    print(labelled(w_q, KINDS, ["1", "2"], digits=1))
    w = w_q @ w_k.T
    print(labelled(w - w.mean(-1, keepdim=True), KINDS, KINDS, digits=1))
#>                1     2
#> determiner   1.8  -1.5
#> noun        -1.9  -0.1
#> verb        -0.1  -1.6
#> pronoun      1.8  -1.5
#>             determiner        noun        verb     pronoun
#> determiner        -1.0         3.0        -1.0        -1.0
#> noun              -1.0        -1.0         3.0        -1.0
#> verb              -2.0         2.0         2.0        -2.0
#> pronoun           -1.0         3.0        -1.0        -1.0
#>                1     2
#> determiner  -1.0   1.5
#> noun         2.2   0.2
#> verb         1.2   1.7
#> pronoun     -1.0   1.5
#>             determiner        noun        verb     pronoun
#> determiner        -1.0         3.0        -1.0        -1.0
#> noun              -1.0        -1.0         3.0        -1.0
#> verb              -2.0         2.0         2.0        -2.0
#> pronoun           -1.0         3.0        -1.0        -1.0
