import torch

from attn_docs import padding_mask


def attention(query, key, value, is_word):
    scores = query @ key.mT / query.size(-1) ** 0.5  # b n m
    scores = scores.masked_fill(~is_word[:, :, None], -10_000)
    return scores.softmax(dim=-1) @ value


torch.manual_seed(0)
query, key, value = (torch.randn(2, 4, 8) for _ in range(3))  # b n d
is_word = padding_mask([4, 2])  # b m: the second text has two words
ones = attention(query, key, torch.ones(2, 4, 8), is_word)
print(ones.shape, torch.allclose(ones, torch.ones(2, 4, 8)))  # the shape fits, rows sum to 1
#> torch.Size([2, 4, 8]) True
