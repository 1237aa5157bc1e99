import torch

scores = torch.tensor([4.0, 3.0, 3.0, 1.0])
for temperature in (4.0, 1.0, 0.25):
    print(temperature, temperature * torch.logsumexp(scores / temperature, dim=-1))
#> 4.0 tensor(8.4342)
#> 1.0 tensor(4.5797)
#> 0.25 tensor(4.0090)
