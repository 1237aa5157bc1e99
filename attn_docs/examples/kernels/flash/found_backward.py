import torch

torch.manual_seed(0)
(query, d_out), (key, value) = torch.randn(2, 6, 4), torch.randn(2, 7, 4)  # n d, m d
query.requires_grad_(), key.requires_grad_(), value.requires_grad_()
weights = torch.softmax(query @ key.T / 2, dim=-1)  # n m
output = weights @ value
wanted = torch.autograd.grad(output, (query, key, value), d_out)

delta = (d_out * output).sum(-1, keepdim=True)  # n 1
d_scores = weights * (d_out @ value.T - delta) / 2  # n m
found = (d_scores @ key, d_scores.T @ query, weights.T @ d_out)
print([torch.allclose(x, y, atol=1e-6) for x, y in zip(found, wanted, strict=True)])
#> [True, True, True]
