import torch

from attn_docs.examples.practice.test_your_attention.layer import Attention

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
