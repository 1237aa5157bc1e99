layers, kv_heads, head_dim = 32, 8, 128  # Llama 3.1 8B
weights = 2 * 8_030_261_248  # its parameters, two bytes each
token = 2 * layers * kv_heads * head_dim * 2  # keys and values, two bytes an element
print(token // 2**10, "KiB a token")
#> 128 KiB a token

for shown_by, mib in {"nvidia-smi": 24_564, "PyTorch": 24_207}.items():  # on an RTX 4090
    room = mib * 2**20 - weights
    users = room / (8192 * token)
    print(f"{shown_by}: {room / 2**30:.2f} GiB left, {users:.2f} users of 8,192 tokens")
#> nvidia-smi: 9.03 GiB left, 9.03 users of 8,192 tokens
#> PyTorch: 8.68 GiB left, 8.68 users of 8,192 tokens

from attn_docs import kv_cache_bytes, load_models, longest_context

model = load_models()["Llama-3.1-8B"]
print(token == kv_cache_bytes(model.config, length=1), weights == model.weight_bytes)
#> True True
print(room // token == longest_context(model.config, room))
#> True
