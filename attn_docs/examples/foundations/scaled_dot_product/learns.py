import torch
import torch.nn.functional as F


def train(d, scale, rate, steps=30):
    """Learn to find: query i is key i with a little noise, and must attend to key i."""
    torch.manual_seed(0)
    q_proj, k_proj = (torch.nn.Linear(d, d, bias=False) for _ in range(2))
    optimizer = torch.optim.SGD([q_proj.weight, k_proj.weight], lr=rate)
    losses = []
    for _ in range(steps + 1):
        key = torch.randn(16, 8, d)  # b m d
        query = key + 0.1 * torch.randn_like(key)  # b n d
        scores = q_proj(query) @ k_proj(key).mT * scale  # b n m: the logits
        loss = F.cross_entropy(scores.flatten(0, 1), torch.arange(8).repeat(16))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())  # a blind guess has ln 8
    return losses


for name, power in (("no division", 0.0), ("with 1/√d", -0.5)):
    for d in (8, 512):
        rates = [rate for rate in (0.03, 0.3, 1.0, 3.0) if train(d, d**power, rate)[-1] < 1]
        print(f"{name:11}  d = {d:3}  learns at {rates}")
#> no division  d =   8  learns at [0.03, 0.3, 1.0]
#> no division  d = 512  learns at [0.03, 0.3]
#> with 1/√d    d =   8  learns at [0.3, 1.0, 3.0]
#> with 1/√d    d = 512  learns at [0.3, 1.0, 3.0]
