from unittest.mock import patch

import torch
import torch.nn.functional as F

from attn_docs import scaled_dot_product_attention


def model(query, key, value):  # yours, unchanged
    return F.scaled_dot_product_attention(query, key, value, is_causal=True, enable_gqa=True)


shapes = []


def attend(query, *args, **options):  # in its place: anything with the same arguments
    shapes.append(tuple(query.shape))
    return scaled_dot_product_attention(query, *args, **options)


torch.manual_seed(0)
inputs = torch.randn(2, 6, 10, 8), torch.randn(2, 3, 10, 8), torch.randn(2, 3, 10, 8)
expected = model(*inputs)
with patch.object(F, "scaled_dot_product_attention", attend):
    print(torch.allclose(model(*inputs), expected, atol=1e-6), shapes)
#> True [(2, 6, 10, 8)]
