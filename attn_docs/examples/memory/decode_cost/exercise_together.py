from attn_docs import decode_cost, projection_cost

sizes = {"num_heads": 32, "num_kv_heads": 8, "head_dim": 128}
weights = projection_cost(4096, **sizes)
one_word = decode_cost(1, **sizes)
print(weights.bytes / one_word.bytes, "words in all caches together")
#> 20480.0 words in all caches together
