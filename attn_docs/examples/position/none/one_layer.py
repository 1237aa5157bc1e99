import torch
from torch import nn

from attn_docs import MultiHeadAttention
from attn_docs.model import MLP, Block

torch.manual_seed(0)
order = [3, 0, 5, 1, 6, 2, 4, 7]  # the last token stays the last
for heads in (1, 2, 8):
    norms = [nn.LayerNorm(16), nn.LayerNorm(16)]
    block = Block(MultiHeadAttention(16, heads), MLP(16), *norms).double()
    x = torch.randn(1, 8, 16, dtype=torch.float64)  # b n 16
    outputs, gradients = [], []
    for tokens in (x, x[:, order]):
        outputs.append(block(tokens, is_causal=True)[:, -1])  # b 16
        each = torch.autograd.grad(outputs[-1].cos().sum(), list(block.parameters()))
        gradients.append(torch.cat([gradient.flatten() for gradient in each]))
    same = [torch.allclose(a, b, atol=1e-12) for a, b in (outputs, gradients)]
    print(f"{heads} heads: the last output {same[0]}, its gradient {same[1]}")
#> 1 heads: the last output True, its gradient True
#> 2 heads: the last output True, its gradient True
#> 8 heads: the last output True, its gradient True
