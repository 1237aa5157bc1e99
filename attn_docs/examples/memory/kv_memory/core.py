layers, kv_heads, head_dim = 32, 8, 128  # Llama 3.1 8B
weights = 2 * 8_030_261_248  # its parameters, two bytes each
memory = 24_564 * 2**20  # bytes of an RTX 4090, as its driver reports them

token = 2 * layers * kv_heads * head_dim * 2  # keys and values, two bytes an element
room = memory - weights
print(token // 2**10, "KiB a token")
#> 128 KiB a token
print(f"{memory / 2**30:.1f} GiB - {weights / 2**30:.1f} GiB = {room / 2**30:.1f} GiB")
#> 24.0 GiB - 15.0 GiB = 9.0 GiB
print(room // token, "tokens, or", room // (8192 * token), "users with 8,192 tokens each")
#> 73979 tokens, or 9 users with 8,192 tokens each

from attn_docs import kv_cache_bytes, load_models, longest_context

model = load_models()["Llama-3.1-8B"]
print(token == kv_cache_bytes(model.config, length=1), weights == model.weight_bytes)
#> True True
print(room // token == longest_context(model.config, room))
#> True
