"""Bug: the heads are folded into the queries, and the causal mask counts them as words."""

import torch.nn.functional as F

from attn_docs import causal_mask


def attention(query, key, value):  # b h n d, b m d, b m d
    batch, heads, n, size = query.shape
    query = query.transpose(1, 2).reshape(batch, n * heads, size)  # row i·h + head
    mask = causal_mask(n * heads, n)  # wrong: causal_mask(n).repeat_interleave(heads, dim=0)
    output = F.scaled_dot_product_attention(query, key, value, mask)
    return output.view(batch, n, heads, -1).transpose(1, 2)  # b h n d
