"""Bug: the scores are divided by √d twice, so by d."""

import torch.nn.functional as F


def attention(query, key, value):
    query = query * query.size(-1) ** -0.5  # wrong: the next line scales again
    return F.scaled_dot_product_attention(query, key, value)
