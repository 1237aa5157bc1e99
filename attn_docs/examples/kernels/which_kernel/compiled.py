# skip: needs a C++ compiler
import torch

from attn_docs import attention_kernels


def explicit(query, key, value):
    scores = query @ key.mT / query.size(-1) ** 0.5  # b h n m
    return scores.softmax(dim=-1) @ value  # b h n e


query, key, value = torch.randn(3, 2, 4, 5, 16).unbind()  # b h n d
compiled = torch.compile(explicit)
compiled(query, key, value)  # compiles
print("written out:", attention_kernels(lambda: explicit(query, key, value)))
#> written out: []
print("compiled:   ", attention_kernels(lambda: compiled(query, key, value)))
#> compiled:    ['FLASH_ATTENTION']
