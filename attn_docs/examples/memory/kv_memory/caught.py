from attn_docs import kv_cache_bytes, load_models
from attn_docs.exhibits.memory import (
    kv_memory_head_dim_from_width,
    kv_memory_latent_doubled,
    kv_memory_query_heads,
    kv_memory_shared_counted,
    kv_memory_window_ignored,
)

models = load_models()
shared = kv_memory_shared_counted.bytes_per_token
wrong = {
    "Qwen3-32B": kv_memory_head_dim_from_width.bytes_per_token(64, 5120, 64, 8, 128),
    "Llama-3-8B": kv_memory_query_heads.bytes_per_token(32, 32, 8, 128),
    "DeepSeek-V3": kv_memory_latent_doubled.bytes_per_token(61, 512, 64),
    "Gemma-4-E2B": shared(7, 4, 1, 512) + shared(28, 16, 1, 256),
}
for name, number in wrong.items():
    print(f"{name:11} {number:7} {kv_cache_bytes(models[name].config, 1):7} a token")
#> Qwen3-32B    163840  262144 a token
#> Llama-3-8B   524288  131072 a token
#> DeepSeek-V3  140544   70272 a token
#> Gemma-4-E2B   43008   18432 a token

number = kv_memory_window_ignored.cache_bytes(131072, 10, 52, 1024, 16, 128)
print("Gemma-3-27B", number, kv_cache_bytes(models["Gemma-3-27B"].config, 131072), "in all")
#> Gemma-3-27B 66571993088 11173625856 in all
