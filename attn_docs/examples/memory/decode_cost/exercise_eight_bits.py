from attn_docs import decode_cost

for bytes_each in (2, 1, 0.5):
    cost = decode_cost(
        8192, num_heads=64, num_kv_heads=8, head_dim=128, bytes_per_number=bytes_each
    )
    print(f"{8 * bytes_each:.0f} bits: {cost.bytes / 2**20:.0f} MiB,", cost.intensity)
#> 16 bits: 32 MiB, 8.0
#> 8 bits: 16 MiB, 16.0
#> 4 bits: 8 MiB, 32.0
