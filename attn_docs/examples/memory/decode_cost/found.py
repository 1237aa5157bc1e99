bandwidth, weights, token = 3.35e12, 15.01e9, 131_072  # an H100, Llama 3.1 8B
batch, length = 64, 4096

read = weights + batch * length * token  # each text has a cache of its own
steps = bandwidth / read
print(f"{batch * steps:,.0f} tokens a second")
#> 4,343 tokens a second
