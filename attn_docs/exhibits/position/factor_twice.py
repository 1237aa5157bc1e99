"""Bug: YaRN's factor is on cosine and sine, and once more on the scale of the scores."""

import torch.nn.functional as F

from attn_docs import RotaryEmbedding, rotary_frequencies


def attention(query, key, value, positions, rule):
    size = query.size(-1)
    query, key = RotaryEmbedding(size, scaling=rule).rotate(query, key, positions)
    _, factor = rotary_frequencies(size, 10000.0, rule)
    scale = factor**2 / size**0.5  # wrong: 1 / size**0.5
    return F.scaled_dot_product_attention(query, key, value, is_causal=True, scale=scale)
