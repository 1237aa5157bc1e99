bandwidth, token = 3.35e12, 131_072  # an H100; a token of Llama 3.1 8B's cache in 16 bits
weights = 2 * 7_504_924_672
for batch, length in ((1, 1024), (64, 4096)):
    rates = {
        "as it is": (weights, token),
        "weights in 8 bits": (weights / 2, token),
        "cache in 8 bits": (weights, token / 2),
    }
    print(f"batch {batch}, {length:,} tokens each")
    for name, (w, t) in rates.items():
        print(f"  {name:17} {bandwidth / (w / batch + length * t):6.0f} tokens a second")
#> batch 1, 1,024 tokens each
#>   as it is             221 tokens a second
#>   weights in 8 bits    439 tokens a second
#>   cache in 8 bits      222 tokens a second
#> batch 64, 4,096 tokens each
#>   as it is            4343 tokens a second
#>   weights in 8 bits   5121 tokens a second
#>   cache in 8 bits     6661 tokens a second
