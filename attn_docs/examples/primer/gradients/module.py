import torch
from torch import nn

torch.manual_seed(0)
layer = nn.Linear(8, 3)
print({name: tuple(p.shape) for name, p in layer.named_parameters()})
#> {'weight': (3, 8), 'bias': (3,)}
optimizer = torch.optim.SGD(layer.parameters(), lr=0.5)
x = torch.randn(64, 8)
wanted = 2 * x[:, :3]  # twice the first three numbers of each row
for _ in range(21):
    loss = (layer(x) - wanted).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"{loss.item():.4f}", layer.weight[0].data.round().long())
#> 0.0001 tensor([2, 0, 0, 0, 0, 0, 0, 0])
