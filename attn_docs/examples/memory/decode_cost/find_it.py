bandwidth, weights, token = 3.35e12, 15.01e9, 131_072  # an H100, Llama 3.1 8B
batch, length = 64, 4096

read = weights + length * token  # bytes of a step
steps = bandwidth / read
print(f"{batch * steps:,.0f} tokens a second")
#> 13,791 tokens a second
