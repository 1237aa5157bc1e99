embed_dim, num_heads, layers, bytes_each = 5120, 128, 60, 2
print("embed_dim / num_heads =", embed_dim // num_heads)
#> embed_dim / num_heads = 40

claimed = 160 + 20
right = 512 + 64  # kv_lora_rank and qk_rope_head_dim of the configuration
for name, cached in (("claimed", claimed), ("right", right)):
    print(f"{name}: {cached} elements, {cached * layers * bytes_each:,} bytes a token")
#> claimed: 180 elements, 21,600 bytes a token
#> right: 576 elements, 69,120 bytes a token
