import torch

from attn_docs import attention_weights, padding_mask

query, key = torch.zeros(2, 3, 4), torch.zeros(2, 3, 4)  # b n d, b m d: all scores are equal


def second_pair(lengths):  # the weights of its first query
    mask = padding_mask(lengths, max_len=3)[:, None]  # b 1 m
    return attention_weights(query, key, mask)[1, 0]


print(second_pair([2, 1]), "the source's lengths: right")
#> tensor([1., 0., 0.]) the source's lengths: right
print(second_pair([3, 3]), "the target's lengths: no error")
#> tensor([0.3333, 0.3333, 0.3333]) the target's lengths: no error
longer = torch.zeros(2, 5, 4)  # now the source is padded to five
try:
    attention_weights(query, longer, padding_mask([3, 3])[:, None])
except ValueError as error:
    print(str(error).partition(" counted")[0])
#> attn_mask must have 2 to 3 axes, each 1 or that of the scores (2, 3, 5)
