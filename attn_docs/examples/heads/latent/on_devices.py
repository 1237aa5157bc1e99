from attn_docs import decode_cost, latent_decode_cost

print("devices   GQA, 64 heads in 8   MLA, 128 heads")
#> devices   GQA, 64 heads in 8   MLA, 128 heads
for tp in (1, 4, 8):
    gqa = decode_cost(8192, num_heads=64, num_kv_heads=8, head_dim=128, tp=tp)
    mla = latent_decode_cost(8192, num_heads=128, kv_rank=512, rope_dim=64, tp=tp)
    print(f"{tp:7}", end="")
    for cost in (gqa, mla):
        print(f"   {cost.bytes / 2**20:2.0f} MiB, {cost.intensity:3.0f} FLOP/B", end="")
    print()
#>       1   32 MiB,   8 FLOP/B    9 MiB, 242 FLOP/B
#>       4    8 MiB,   8 FLOP/B    9 MiB,  60 FLOP/B
#>       8    4 MiB,   8 FLOP/B    9 MiB,  30 FLOP/B
