import torch

torch.manual_seed(0)
query, key, value, d_out = (torch.randn(6, 4, requires_grad=True) for _ in range(4))
weights = torch.softmax(query @ key.T / 2, dim=-1)  # n n
output = weights @ value
wanted = torch.autograd.grad(output, (query, key, value), d_out)

delta = (d_out * output).sum(-1, keepdim=True)  # n 1
d_scores = weights * (d_out @ value.T - delta) / 2  # n n
found = (d_scores @ key, d_scores @ query, weights.T @ d_out)
print([x.shape == y.shape for x, y in zip(found, wanted, strict=True)])
#> [True, True, True]
print([torch.allclose(x, y, atol=1e-6) for x, y in zip(found, wanted, strict=True)])
#> [True, False, True]
