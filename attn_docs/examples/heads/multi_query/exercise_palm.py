layers, heads, head_dim, chips = 118, 48, 256, 8
one_head = 2 * layers * head_dim * 2  # keys and values, two bytes each
print(f"one chip: {one_head:,} bytes a token, {heads} times less than {heads * one_head:,}")
#> one chip: 120,832 bytes a token, 48 times less than 5,799,936
each = heads // chips * one_head  # on each chip, with a KV head for each query head
print(f"each of {chips}: {one_head:,} bytes, {each // one_head} times less than {each:,}")
#> each of 8: 120,832 bytes, 6 times less than 724,992
