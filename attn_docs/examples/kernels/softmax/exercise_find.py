import torch


def online_softmax(scores, values, block):  # n m, m e
    top = scores.new_full(scores.shape[:-1], -torch.inf)  # n
    total, mixed = torch.zeros_like(top), 0
    for s, v in zip(scores.split(block, -1), values.split(block), strict=True):
        new = torch.maximum(top, s.amax(-1))  # n
        powers = torch.exp(s - new[:, None])  # n block
        top = new
        shrink = torch.exp(top - new)  # n
        total = shrink * total + powers.sum(-1)  # n
        mixed = shrink[:, None] * mixed + powers @ v  # n e
    return mixed / total[:, None]


values = torch.eye(4)
for scores in (torch.tensor([[9.0, 0.0, 7.0, 8.0]]), torch.tensor([[7.0, 0.0, 9.0, 8.0]])):
    output = online_softmax(scores, values, block=2)
    print(torch.allclose(output, scores.softmax(-1) @ values))
#> True
#> False
