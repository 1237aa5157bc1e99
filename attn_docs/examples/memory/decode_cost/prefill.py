from attn_docs import decode_cost, projection_cost

sizes = {"num_heads": 32, "num_kv_heads": 8, "head_dim": 128}
print("new positions  cache  weights")
#> new positions  cache  weights
for new in (1, 8, 64, 512):
    cache = decode_cost(8192, **sizes, new=new)
    weights = projection_cost(4096, **sizes, new=new)
    print(f"{new:13} {cache.intensity:6.0f} {weights.intensity:8.0f}")
#>             1      4        1
#>             8     32        8
#>            64    256       64
#>           512   2048      512
