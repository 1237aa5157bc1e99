import torch
import torch.nn.functional as F


def train(d, scale, rate, steps=30, optimizer=torch.optim.SGD):
    """Learn to find: query i is key i with a little noise, and must attend to key i."""
    torch.manual_seed(0)
    q_proj, k_proj = (torch.nn.Linear(d, d, bias=False) for _ in range(2))
    descent = optimizer([q_proj.weight, k_proj.weight], lr=rate)
    losses = []
    for _ in range(steps + 1):
        key = torch.randn(16, 8, d)  # b m d
        query = key + 0.1 * torch.randn_like(key)  # b n d
        scores = q_proj(query) @ k_proj(key).mT * scale  # b n m
        loss = F.cross_entropy(scores.flatten(0, 1), torch.arange(8).repeat(16))
        descent.zero_grad()
        loss.backward()
        descent.step()
        losses.append(loss.item())  # a blind guess has ln 8
    return losses


print([f"{loss:.0f}" for loss in train(512, 1.0, rate=1.0, steps=2)])  # no division: diverges
#> ['11', '3', '110']
for optimizer, rates in (
    (torch.optim.SGD, (0.03, 0.3, 1.0, 3.0)),
    (torch.optim.Adam, (0.001, 0.01, 0.1)),
):
    for name, power in (("no division", 0.0), ("with 1/√d", -0.5)):
        for d in (8, 512):
            learns = [r for r in rates if train(d, d**power, r, 30, optimizer)[-1] < 1]
            print(f"{optimizer.__name__:4}  {name:11}  d = {d:3}  learns at {learns}")
#> SGD   no division  d =   8  learns at [0.03, 0.3, 1.0]
#> SGD   no division  d = 512  learns at [0.03, 0.3]
#> SGD   with 1/√d    d =   8  learns at [0.3, 1.0, 3.0]
#> SGD   with 1/√d    d = 512  learns at [0.3, 1.0, 3.0]
#> Adam  no division  d =   8  learns at [0.01, 0.1]
#> Adam  no division  d = 512  learns at [0.001, 0.01]
#> Adam  with 1/√d    d =   8  learns at [0.01, 0.1]
#> Adam  with 1/√d    d = 512  learns at [0.001, 0.01]
