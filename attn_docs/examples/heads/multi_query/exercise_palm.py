layers, heads, head_dim, chips = 118, 48, 256, 8
one_head = 2 * layers * head_dim * 2  # keys and values, two bytes each
print(f"one chip: {one_head:,} bytes a token, {heads} times less than {heads * one_head:,}")
#> one chip: 120,832 bytes a token, 48 times less than 5,799,936

texts = chips  # one token of each: bytes on each chip
for split, one, many in [("heads", texts, texts * heads // chips), ("texts", 1, heads)]:
    sizes = f"{one * one_head:,} bytes, {many // one} times less than {many * one_head:,}"
    print(f"split by {split}: {sizes}")
#> split by heads: 966,656 bytes, 6 times less than 5,799,936
#> split by texts: 120,832 bytes, 48 times less than 5,799,936
