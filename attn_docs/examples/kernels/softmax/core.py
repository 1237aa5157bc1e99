import torch


def online_softmax(scores, values, block):  # n m, m e
    top = scores.new_full(scores.shape[:-1], -torch.inf)  # n: the largest score so far
    total, mixed = torch.zeros_like(top), values.new_zeros(len(scores), values.size(1))
    for s, v in zip(scores.split(block, -1), values.split(block), strict=True):
        new = torch.maximum(top, s.amax(-1))  # n
        shrink = torch.exp(top - new)  # n: 1 unless the maximum moved
        powers = torch.exp(s - new[:, None])  # n block
        total = shrink * total + powers.sum(-1)  # n
        mixed = shrink[:, None] * mixed + powers @ v  # n e
        top = new
    return mixed / total[:, None], top + torch.log(total)  # n e, n


torch.manual_seed(0)
scores, values = 50 * torch.randn(3, 1000), torch.randn(1000, 4)
output, lse = online_softmax(scores, values, block=128)

from attn_docs import OnlineSoftmax

softmax = OnlineSoftmax()
softmax.update(scores, values)
print(torch.allclose(output, softmax.result(), atol=1e-5), torch.allclose(lse, softmax.lse))
#> True True
