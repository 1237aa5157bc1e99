heads, length, head_dim, bytes_each = 4, 3, 2, 2  # "the cat sleeps" is in the cache

for kv_heads in (4, 2, 1):
    multiply_adds = 0
    read = set()  # each element of the cache once
    for head in range(heads):
        shared = head // (heads // kv_heads)
        for token in range(length):
            for i in range(head_dim):
                multiply_adds += 1  # score: query · key
                read.add(("key", shared, token, i))
            for i in range(head_dim):
                multiply_adds += 1  # output: weight · value
                read.add(("value", shared, token, i))
    flops, size = 2 * multiply_adds, bytes_each * len(read)
    print(f"KV heads: {kv_heads}, FLOP: {flops}, bytes: {size},", flops / size)
#> KV heads: 4, FLOP: 96, bytes: 96, 1.0
#> KV heads: 2, FLOP: 96, bytes: 48, 2.0
#> KV heads: 1, FLOP: 96, bytes: 24, 4.0
