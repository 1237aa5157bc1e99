"""Bug: the norm takes mean and variance of the whole text, not of each token."""

import torch.nn.functional as F


def norm(layer, x):
    size = x.shape[1:]  # wrong: x.shape[2:]
    normalised = F.layer_norm(x, size)  # b n D
    return normalised * layer.weight + layer.bias


def block(layer, x):
    x = x + layer.attention(norm(layer.attention_norm, x), is_causal=True)
    return x + layer.mlp(norm(layer.mlp_norm, x))
