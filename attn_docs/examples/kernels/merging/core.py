import torch


def attend(query, key, value):
    scores = query @ key.mT / query.size(-1) ** 0.5  # b h n m
    return scores.softmax(-1) @ value, scores.logsumexp(-1)  # b h n e, b h n


def merge(outputs, lses):
    weights = torch.stack(lses).softmax(0)  # p b h n: the share of each part
    output = (weights.unsqueeze(-1) * torch.stack(outputs)).sum(0)  # b h n e
    return output, torch.stack(lses).logsumexp(0)  # b h n


query = torch.randn(2, 4, 5, 8)
key, value = torch.randn(2, 4, 90, 8), torch.randn(2, 4, 90, 6)
keys, values = (x.split([50, 30, 10], dim=2) for x in (key, value))
parts = [attend(query, keys[p], values[p]) for p in range(3)]  # each on any machine
output, lse = merge([part[0] for part in parts], [part[1] for part in parts])
print(torch.allclose(output, attend(query, key, value)[0], atol=1e-6))
#> True

from attn_docs import split_kv_attention

print(torch.allclose(output, split_kv_attention(query, key, value, splits=3), atol=1e-6))
#> True
