from attn_docs import decode_cost, latent_decode_cost

llama = {"num_heads": 64, "num_kv_heads": 8, "head_dim": 128}  # Llama 3.1 70B, one layer
deepseek = {"num_heads": 128, "kv_rank": 512, "rope_dim": 64}  # DeepSeek-V3, one layer
print("devices  Llama 3.1 70B         DeepSeek-V3")
#> devices  Llama 3.1 70B         DeepSeek-V3
for tp in (1, 8, 16):
    costs = decode_cost(8192, **llama, tp=tp), latent_decode_cost(8192, **deepseek, tp=tp)
    print(f"{tp:7}", end="")
    for cost in costs:
        print(f"  {cost.bytes / 2**20:4.1f} MiB, {cost.intensity:3.0f} FLOP/B", end="")
    print()
#>       1  32.0 MiB,   8 FLOP/B   9.0 MiB, 242 FLOP/B
#>       8   4.0 MiB,   8 FLOP/B   9.0 MiB,  30 FLOP/B
#>      16   4.0 MiB,   4 FLOP/B   9.0 MiB,  15 FLOP/B
