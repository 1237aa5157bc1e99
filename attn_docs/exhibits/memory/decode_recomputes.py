"""Bug: for each new token, the keys and values of all tokens before are computed again."""

import torch


def decode(attend, tokens, cache):  # b n embed_dim
    outputs = []
    for t in range(tokens.size(1)):
        given = tokens[:, : t + 1]
        output = attend(given, is_causal=True)  # wrong: (tokens[:, [t]], …, cache=cache)
        outputs.append(output[:, -1:])
    return torch.cat(outputs, dim=1)
