import torch


def train(d, scale, rate=1.0, steps=30):
    """Learn to find: query i is key i with a little noise, and must attend to key i."""
    torch.manual_seed(0)
    q_proj, k_proj = (torch.nn.Linear(d, d, bias=False) for _ in range(2))
    optimizer = torch.optim.SGD([q_proj.weight, k_proj.weight], lr=rate)
    losses = []
    for _ in range(steps):
        key = torch.randn(16, 8, d)  # b m d
        query = key + 0.1 * torch.randn_like(key)  # b n d
        scores = q_proj(query) @ k_proj(key).mT * scale  # b n m
        right = torch.softmax(scores, dim=-1).diagonal(dim1=1, dim2=2)  # b n
        loss = -torch.log(right + 1e-6).mean()  # ln 8 = 2.08 for a blind guess
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


for name, d, scale in (("no scale", 8, 1.0), ("no scale", 512, 1.0), ("1/√d", 512, 512**-0.5)):
    losses = train(d, scale)
    print(f"d = {d:3}  {name:8}  {'learned' if losses[-1] < 1 else 'worse than a guess'}")
#> d =   8  no scale  learned
#> d = 512  no scale  worse than a guess
#> d = 512  1/√d      learned
