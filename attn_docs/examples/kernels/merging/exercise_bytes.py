layers, heads, kv_heads, head_dim, machines, keys = 32, 32, 8, 128, 8, 131_072  # Llama 3 8B
held = keys // machines  # keys that each machine holds

ring = (machines - 1) * held * 2 * kv_heads * head_dim * 2  # keys and values come past, 2 bytes each
merge = heads * (head_dim * 2 + head_dim * 4 + 4)  # one query comes, output and LSE go in float32
print(f"{layers * ring / 2**30:.0f} GiB against {layers * merge / 2**10:.0f} KiB a machine and token")
#> 14 GiB against 772 KiB a machine and token
