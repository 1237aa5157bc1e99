import torch
from torch import nn


class Attention(nn.Module):
    def __init__(self, dim=32, heads=4):
        super().__init__()
        self.heads = heads
        self.q, self.k, self.v, self.out = (nn.Linear(dim, dim) for _ in range(4))

    def forward(self, x):
        q, k, v = (f(x).unflatten(-1, (self.heads, -1)) for f in (self.q, self.k, self.v))
        weights = (q @ k.mT / q.size(-1) ** 0.5).softmax(-1)
        return self.out((weights @ v).flatten(2))

torch.manual_seed(0)
attend = Attention()
x, y = torch.randn(2, 8, 5, 32)
print("shape is right:", attend(x).shape == x.shape)
#> shape is right: True
optimizer = torch.optim.Adam(attend.parameters(), lr=1e-2)
losses = []
for _ in range(60):
    loss = (attend(x) - y).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
print("loss is halved:", losses[-1] < losses[0] / 2)
#> loss is halved: True
