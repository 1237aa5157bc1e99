import torch

from attn_docs import attention_with_lse
from attn_docs.exhibits.kernels.merge_averages import merge  # which is wrong


def passes(first, second, sharper=1.0):
    query, key = torch.randn(64, 32), torch.randn(first + second, 32)
    value = torch.randn(first + second, 32)
    key[first:] *= sharper
    a = attention_with_lse(query, key[:first], value[:first])
    b = attention_with_lse(query, key[first:], value[first:])
    whole = attention_with_lse(query, key, value)[0]
    return torch.allclose(merge([a[0], b[0]], [a[1], b[1]])[0], whole, atol=0.01)


print(passes(4000, 4000), passes(4000, 800), passes(4000, 4000, sharper=3.0))
#> True False False
