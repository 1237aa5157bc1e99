from attn_docs import causal_mask, padding_mask

is_word = padding_mask([4, 2, 0])  # b m
keys, queries = is_word[:, None, :], is_word[:, :, None]  # b 1 m, and wrong: b n 1
for name, mask in (("key axis", keys), ("query axis", queries)):
    alone = mask.expand(3, 4, 4)  # b n m
    print(name, alone.sum((1, 2)).tolist(), (causal_mask(4) & mask).sum((1, 2)).tolist())
#> key axis [16, 8, 0] [10, 7, 0]
#> query axis [16, 8, 0] [10, 3, 0]
