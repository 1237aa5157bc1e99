import torch

torch.manual_seed(0)
query, key, value = (torch.randn(n, 4, requires_grad=True) for n in (5, 6, 6))  # n d, m d, m e
scores = query @ key.T / 2  # n m
output, lse = scores.softmax(dim=-1) @ value, scores.logsumexp(dim=-1, keepdim=True)
d_out = torch.randn_like(output)  # n e


def d_query(block):
    total = torch.zeros_like(query)
    for k, v in zip(key.split(block), value.split(block), strict=True):
        weights = (query @ k.T / 2 - lse).exp()  # n block
        d_weights = d_out @ v.T  # n block
        delta = (d_out * output).sum(dim=-1, keepdim=True)  # n 1
        total = total + weights * (d_weights - delta) @ k / 2  # n d
    return total


(wanted,) = torch.autograd.grad(output, query, d_out, retain_graph=True)
print([torch.allclose(d_query(block), wanted, atol=1e-6) for block in (6, 3, 2)])
#> [True, True, True]
