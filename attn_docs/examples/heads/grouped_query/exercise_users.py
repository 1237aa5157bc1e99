layers, kv_heads, head_dim, tokens, bytes_each, gpus = 80, 8, 128, 8192, 2, 16
cache = 2 * layers * kv_heads * head_dim * tokens * bytes_each  # 2: keys and values
print(cache / 2**30, "GiB, without groups", cache * 64 // kv_heads / 2**30)
#> 2.5 GiB, without groups 20.0
one_gpu = cache // kv_heads * max(1, kv_heads // gpus)
print(one_gpu / 2**30, "GiB on each GPU,", gpus * one_gpu / 2**30, "on all")
#> 0.3125 GiB on each GPU, 5.0 on all
