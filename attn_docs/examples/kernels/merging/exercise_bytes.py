layers, heads, kv_heads, head_dim = 32, 32, 8, 128  # Llama 3.1 8B
machines, keys = 8, 131_072
held = keys // machines  # keys that each machine holds

# each machine sends its keys and values, two bytes an element
ring = layers * held * 2 * kv_heads * head_dim * 2
# or each gets a query, and sends an output and an LSE in float32
merge = layers * heads * (head_dim * 2 + head_dim * 4 + 4)
print(f"{ring / 2**30:.0f} GiB or {merge / 2**10:.0f} KiB for each machine")
#> 2 GiB or 772 KiB for each machine
