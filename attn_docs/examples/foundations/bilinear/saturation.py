import torch

torch.manual_seed(0)
torch.set_printoptions(sci_mode=False)
q, k = 16, 64
query, key, normal = torch.randn(1, q), torch.randn(5, k), torch.randn(q, k)
small = normal / (q * k) ** 0.25

for weight in (normal, small):
    for power in (0.25, 0.5):
        scores = query @ weight @ key.T / (q * k) ** power
        print(power, torch.softmax(scores, dim=-1))
#> 0.25 tensor([[0.0134, 0.0001, 0.9866, 0.0000, 0.0000]])
#> 0.5 tensor([[0.2495, 0.0984, 0.5338, 0.0678, 0.0505]])
#> 0.25 tensor([[0.2495, 0.0984, 0.5338, 0.0678, 0.0505]])
#> 0.5 tensor([[0.2203, 0.1869, 0.2519, 0.1749, 0.1660]])
