import torch

from attn_docs import alibi_bias


def bias(num_heads, n, seen):  # h n seen+n: of n new tokens after those in a cache
    power = 2 ** (num_heads.bit_length() - 1)  # the power of two that is not above
    own = 2.0 ** (-8 * torch.arange(1, power + 1) / power)
    between = 2.0 ** (-4 * (2 * torch.arange(num_heads - power) + 1) / power)
    query, key = seen + torch.arange(n), torch.arange(seen + n)
    return -torch.cat((own, between))[:, None, None] * (query[:, None] - key).abs()


def verdict(bias):
    for num_heads, n, seen in ((8, 5, 0), (8, 1, 4), (12, 5, 0), (71, 3, 9)):
        found, wanted = bias(num_heads, n, seen), alibi_bias(num_heads, n, offset=seen)[0]
        if found.shape != wanted.shape or not torch.allclose(found, wanted, atol=1e-5):
            return "failed"
    return "passed"


print(verdict(bias))
#> passed
