import torch

torch.manual_seed(0)
n, m, d, e = 5, 7, 4, 3
query, key = torch.randn(n, d, requires_grad=True), torch.randn(m, d, requires_grad=True)
value, d_out = torch.randn(m, e, requires_grad=True), torch.randn(n, e)
weights = torch.softmax(query @ key.T / d**0.5, dim=-1)  # n m, the P of the papers
output = weights @ value  # n e
wanted = torch.autograd.grad(output, (query, key, value), d_out)

d_weights = d_out @ value.T  # n m
delta = (d_out * output).sum(-1)  # n: one number a row
print(tuple(delta.shape), torch.allclose(delta, (weights * d_weights).sum(-1), atol=1e-6))
#> (5,) True
d_scores = weights * (d_weights - delta[:, None])  # n m
found = (d_scores @ key / d**0.5, d_scores.T @ query / d**0.5, weights.T @ d_out)
print([torch.allclose(x, y, atol=1e-6) for x, y in zip(found, wanted, strict=True)])
#> [True, True, True]
