heads, length, head_dim, bytes_each = 4, 3, 2, 2  # "the cat sleeps" is in the cache

for kv_heads in (4, 2, 1):
    multiply_adds = 0
    read = set()  # each number of the cache once
    for head in range(heads):
        shared = head // (heads // kv_heads)
        for word in range(length):
            for i in range(head_dim):
                multiply_adds += 1  # score: query · key
                read.add(("key", shared, word, i))
            for i in range(head_dim):
                multiply_adds += 1  # output: weight · value
                read.add(("value", shared, word, i))
    flops, size = 2 * multiply_adds, bytes_each * len(read)
    print(f"key heads: {kv_heads}, FLOP: {flops}, bytes: {size},", flops / size)
#> key heads: 4, FLOP: 96, bytes: 96, 1.0
#> key heads: 2, FLOP: 96, bytes: 48, 2.0
#> key heads: 1, FLOP: 96, bytes: 24, 4.0
