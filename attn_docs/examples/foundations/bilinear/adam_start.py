import torch
import torch.nn.functional as F

d = 32


def train(variance, divisor, steps=100):
    """Return the loss of finding, among 8 keys, the one that the query was made of."""
    torch.manual_seed(0)
    rotation = torch.linalg.qr(torch.randn(d, d))[0]
    w = (torch.randn(d, d) * variance**0.5).requires_grad_()
    adam = torch.optim.Adam([w], lr=0.01)
    for _ in range(steps):
        key = torch.randn(64, 8, d)  # b m d
        scores = key @ rotation @ w @ key.mT / divisor  # b n m
        loss = F.cross_entropy(scores.flatten(0, 1), torch.arange(8).repeat(64))
        adam.zero_grad()
        loss.backward()
        adam.step()
    return loss.item()


for variance, divisor in ((1 / d**2, 1), (1 / d, d**0.5), (1, d)):
    print(f"{train(variance, divisor):.1g}")
#> 0.003
#> 0.03
#> 0.4
