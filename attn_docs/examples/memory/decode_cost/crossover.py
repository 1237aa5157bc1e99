from attn_docs import decode_cost, projection_cost

sizes = {"num_heads": 32, "num_kv_heads": 32, "head_dim": 128}
weights = projection_cost(4096, **sizes)
for length in (4096, 8192, 16384):
    cache = decode_cost(length, **sizes)
    print(f"{length:6} words: FLOP {cache.flops / weights.flops:.1f}×,", end=" ")
    print(f"bytes {cache.bytes / weights.bytes:.1f}× those of the projections")
#>   4096 words: FLOP 0.5×, bytes 0.5× those of the projections
#>   8192 words: FLOP 1.0×, bytes 1.0× those of the projections
#>  16384 words: FLOP 2.0×, bytes 2.0× those of the projections
