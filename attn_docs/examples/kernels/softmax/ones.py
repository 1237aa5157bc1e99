import torch

total = torch.tensor(0.0, dtype=torch.float16)
for _ in range(4096):
    total = total + 1
print(total)
#> tensor(2048., dtype=torch.float16)
print(torch.ones(4096, dtype=torch.float16).sum())
#> tensor(4096., dtype=torch.float16)
