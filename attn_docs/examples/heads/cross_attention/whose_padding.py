import torch

from attn_docs import attention_weights, padding_mask

query, key = torch.zeros(2, 3, 4), torch.zeros(2, 3, 4)  # all scores are equal


def second_pair(lengths):  # the weights of its first query
    mask = padding_mask(lengths, max_len=3)[:, None]  # b 1 m
    return attention_weights(query, key, mask)[1, 0]


print(second_pair([3, 2]), "target [3, 2] and source [3, 2]: the same mask")
#> tensor([0.5000, 0.5000, 0.0000]) target [3, 2] and source [3, 2]: the same mask
print(second_pair([2, 3]), "target [2, 3]")
#> tensor([0.3333, 0.3333, 0.3333]) target [2, 3]
print(second_pair([3, 1]), "source [3, 1]: what is right")
#> tensor([1., 0., 0.]) source [3, 1]: what is right
longer = torch.zeros(2, 5, 4)
try:
    attention_weights(query, longer, padding_mask([2, 3])[:, None])
except ValueError as error:
    print(str(error).partition(" counted")[0])
#> attn_mask must have 2 to 3 axes, each 1 or that of the scores (2, 3, 5)
