def cache_bytes(tokens, layers, kv_heads, head_dim, number=2):  # 16 bits are 2 bytes
    keys_and_values = 2
    return keys_and_values * tokens * layers * kv_heads * head_dim * number


for kv_heads in (32, 1):
    token = cache_bytes(1, layers=32, kv_heads=kv_heads, head_dim=128)
    text = cache_bytes(4096, layers=32, kv_heads=kv_heads, head_dim=128)
    print(f"heads {kv_heads:2}: {token:,} bytes a word, {text // 2**20:,} MiB for 4,096 words")
#> heads 32: 524,288 bytes a word, 2,048 MiB for 4,096 words
#> heads  1: 16,384 bytes a word, 64 MiB for 4,096 words
