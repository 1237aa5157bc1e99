layers, kv_heads, head_dim, length, bytes_each = 80, 8, 128, 8192, 2
cache = 2 * layers * kv_heads * head_dim * length * bytes_each  # 2: keys and values
print(cache / 2**30, "GiB")
#> 2.5 GiB
print(cache * 64 // 8 / 2**30, "GiB with 64 key heads")
#> 20.0 GiB with 64 key heads
