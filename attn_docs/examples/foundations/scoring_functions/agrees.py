import torch
import torch.nn.functional as F

from attn_docs import DotProductAttention, GaussianAttention


def gaussian(query, key, value, width):
    """−‖q − k‖²/2w² as a dot product with a penalty on long keys, by PyTorch's function."""
    penalty = -key.square().sum(-1)[:, None, :] / (2 * width**2)  # b 1 m
    return F.scaled_dot_product_attention(query, key, value, penalty, scale=1 / width**2)


torch.manual_seed(0)
shapes = (2, 5, 4), (2, 7, 4), (2, 7, 6)  # b n d, b m d, b m e
leaves = [torch.randn(shape, dtype=torch.float64).requires_grad_() for shape in shapes]

for ours, theirs in (
    (DotProductAttention()(*leaves), F.scaled_dot_product_attention(*leaves)),
    (GaussianAttention(width=0.7)(*leaves), gaussian(*leaves, width=0.7)),
):
    pairs = [(ours, theirs)]
    gradients = [torch.autograd.grad(x.square().sum(), leaves) for x in (ours, theirs)]
    pairs += zip(*gradients, strict=True)
    print(max((a - b).abs().max().item() for a, b in pairs) < 1e-12)
#> True
#> True
