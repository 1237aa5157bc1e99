from attn_docs import kv_cache_bytes, load_models

model = load_models()["Llama-3.1-8B"]
together = model.weight_bytes / kv_cache_bytes(model.config, 1)
print(f"{together:.0f} tokens in all caches together")
#> 122532 tokens in all caches together
