import torch
from torch import nn

torch.manual_seed(0)
layer = nn.Linear(8, 3)
print({name: tuple(p.shape) for name, p in layer.named_parameters()})
#> {'weight': (3, 8), 'bias': (3,)}

optimizer = torch.optim.SGD(layer.parameters(), lr=0.1)
x, wanted = torch.randn(16, 8), torch.randn(16, 3)
for _ in range(3):
    loss = (layer(x) - wanted).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(f"{loss.item():.4f}")
#> 0.9436
#> 0.8428
#> 0.7611
