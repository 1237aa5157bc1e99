"""Bug: the layers of a model share one cache, and read each other's keys and values."""

import torch

from attn_docs import KVCache


def decode(layers, x):  # b n embed_dim, one token at a time
    first, outputs = layers[0], []
    sizes = (x.size(0), first.num_kv_heads, first.head_dim, 64)
    caches = [KVCache(*sizes)] * len(layers)  # wrong: one object under several names
    for token in x.split(1, dim=1):
        outputs.append(token)
        for layer, cache in zip(layers, caches, strict=True):
            outputs[-1] = outputs[-1] + layer(outputs[-1], is_causal=True, cache=cache)
    return torch.cat(outputs, dim=1)
