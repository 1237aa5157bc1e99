BANDWIDTH, MEMORY = 3.35e12, 79.11 * 2**30  # an H100 SXM; its bytes as CUDA reports them
layers, kv_heads, head_dim, bytes_each = 32, 8, 128, 2  # Llama 3.1 8B in bfloat16
parameters, embedding = 8_030_261_248, 128_256 * 4096

weights = bytes_each * (parameters - embedding)  # a token needs one row of it
token = 2 * layers * kv_heads * head_dim * bytes_each  # a key and a value in each layer


def tokens_per_second(batch, length):
    cache = length * token  # of one text
    return BANDWIDTH / (weights / batch + cache)


for batch in (1, 8, 64):
    for length in (1024, 4096, 32_768):
        fits = bytes_each * parameters + batch * length * token < MEMORY
        rate = f"{tokens_per_second(batch, length):6.0f}" if fits else "no room"
        print(f"batch {batch:2} of {length:6,} tokens: {rate}")
#> batch  1 of  1,024 tokens:    221
#> batch  1 of  4,096 tokens:    215
#> batch  1 of 32,768 tokens:    174
#> batch  8 of  1,024 tokens:   1666
#> batch  8 of  4,096 tokens:   1388
#> batch  8 of 32,768 tokens:    543
#> batch 64 of  1,024 tokens:   9085
#> batch 64 of  4,096 tokens:   4343
#> batch 64 of 32,768 tokens: no room

from attn_docs import kv_cache_bytes, load_models

model = load_models()["Llama-3.1-8B"]
print(model.parameters == parameters, kv_cache_bytes(model.config, 1) == token)
#> True True
