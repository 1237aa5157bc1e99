"""Bug: for each new word, the keys and values of all words before are computed again."""

import torch


def decode(attend, words, cache):  # b n embed_dim
    outputs = []
    for t in range(words.size(1)):
        given = words[:, : t + 1]
        output = attend(given, is_causal=True)  # wrong: (words[:, [t]], …, cache=cache)
        outputs.append(output[:, -1:])
    return torch.cat(outputs, dim=1)
