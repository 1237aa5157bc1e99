layers, query_heads, head_dim = 32, 71, 64
one = 2 * layers * 1 * head_dim * 2
print(f"{one:,} bytes a word, {query_heads * one:,} with a key and value head each")
#> 8,192 bytes a word, 581,632 with a key and value head each
