from attn_docs import kv_cache_bytes, load_models
from attn_docs.exhibits.memory import (
    kv_memory_head_dim_from_width as from_width,
    kv_memory_latent_doubled as doubled,
    kv_memory_query_heads as query_heads,
    kv_memory_shared_counted as shared,
    kv_memory_window_ignored as ignored,
)

models = load_models()


def right(name, length=1):
    return kv_cache_bytes(models[name].config, length)


print("Qwen3-32B   ", from_width.bytes_per_token(64, 5120, 64, 8, 128), right("Qwen3-32B"))
#> Qwen3-32B    163840 262144
print("Llama-3-8B  ", query_heads.bytes_per_token(32, 32, 8, 128), right("Llama-3-8B"))
#> Llama-3-8B   524288 131072
wrong = ignored.cache_bytes(131072, 10, 52, 1024, 16, 128)
print("Gemma-3-27B ", wrong, right("Gemma-3-27B", 131072))
#> Gemma-3-27B  66571993088 11173625856
print("DeepSeek-V3 ", doubled.bytes_per_token(61, 512, 64), right("DeepSeek-V3"))
#> DeepSeek-V3  140544 70272
wrong = shared.bytes_per_token(7, 4, 1, 512) + shared.bytes_per_token(28, 16, 1, 256)
print("Gemma-4-E2B ", wrong, right("Gemma-4-E2B"))
#> Gemma-4-E2B  43008 18432
