bandwidth, weights, token = 3.35e12, 15.01e9, 131_072  # an H100, Llama 3.1 8B
for length in (1024, 4096, 32_768):
    most, half = bandwidth / (length * token), weights / (length * token)
    print(f"{length:6,} tokens: at most {most:6,.0f} a second, half of it with {half:5.1f} texts")
#>  1,024 tokens: at most 24,959 a second, half of it with 111.8 texts
#>  4,096 tokens: at most  6,240 a second, half of it with  28.0 texts
#> 32,768 tokens: at most    780 a second, half of it with   3.5 texts
