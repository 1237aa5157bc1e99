layers, heads, kv_heads, head_dim = 32, 32, 8, 128  # Llama 3 8B
machines, keys = 8, 131_072
held = keys // machines  # keys that each machine holds

# keys and values arrive from seven machines, two bytes each
ring = layers * (machines - 1) * held * 2 * kv_heads * head_dim * 2
# a query goes to a machine, an output and an LSE come back in float32
merge = layers * heads * (head_dim * 2 + head_dim * 4 + 4)
print(f"{ring / 2**30:.0f} GiB, or {merge / 2**10:.0f} KiB for each machine")
#> 14 GiB, or 772 KiB for each machine
