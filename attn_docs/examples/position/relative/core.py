import math

import torch
import torch.nn.functional as F


def slopes(h):
    p = 2 ** math.floor(math.log2(h))  # the power of two that is not above h
    own = [2 ** (-8 * i / p) for i in range(1, p + 1)]
    between = [2 ** (-4 * i / p) for i in range(1, 2 * (h - p), 2)]  # every other of 2p heads
    return torch.tensor(own + between)  # h


torch.manual_seed(0)
query, key, value = torch.randn(3, 2, 12, 5, 4).unbind()  # b h n d each
here = torch.arange(5)
distance = (here[:, None] - here).abs()  # n n
bias = -slopes(12)[:, None, None] * distance  # h n n
mask = bias.masked_fill(here > here[:, None], float("-inf"))  # later keys are hidden
output = F.scaled_dot_product_attention(query, key, value, attn_mask=mask)  # b h n d

from attn_docs import alibi_bias, scaled_dot_product_attention

mask = alibi_bias(num_heads=12, query_len=5)  # 1 h n n
theirs = scaled_dot_product_attention(query, key, value, mask, is_causal=True)
print(torch.allclose(output, theirs, atol=1e-6))
#> True
