from attn_docs import decode_cost, projection_cost

sizes = {"num_heads": 32, "num_kv_heads": 8, "head_dim": 128}
print("batch  cache  weights")
#> batch  cache  weights
for batch in (1, 8, 64):
    cache = decode_cost(length=8192, **sizes, batch=batch)
    weights = projection_cost(embed_dim=4096, **sizes, batch=batch)
    print(f"{batch:5} {cache.intensity:6.0f} {weights.intensity:8.0f}")
#>     1      4        1
#>     8      4        8
#>    64      4       64
