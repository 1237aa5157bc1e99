from attn_docs import decode_cost

rates = {"flops_per_second": 8e9, "bytes_per_second": 1e9}  # a toy machine
for kv_heads in (32, 8, 4, 1):
    cost = decode_cost(1000, num_heads=32, num_kv_heads=kv_heads, head_dim=64)
    computes = cost.flops / 8e9 * 1e6
    reads = cost.bytes / 1e9 * 1e6
    least = cost.seconds(**rates) * 1e6
    print(f"{kv_heads:2} key heads: {cost.intensity:2.0f} FLOP per byte,", end=" ")
    print(f"computes {computes:.0f} µs, reads {reads:.0f} µs, takes {least:.0f} µs")
#> 32 key heads:  1 FLOP per byte, computes 1024 µs, reads 8192 µs, takes 8192 µs
#>  8 key heads:  4 FLOP per byte, computes 1024 µs, reads 2048 µs, takes 2048 µs
#>  4 key heads:  8 FLOP per byte, computes 1024 µs, reads 1024 µs, takes 1024 µs
#>  1 key heads: 32 FLOP per byte, computes 1024 µs, reads 256 µs, takes 1024 µs
