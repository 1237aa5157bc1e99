from attn_docs import kv_cache_bytes, load_models

models = load_models()
llama, gemma = (models[name].config for name in ("Llama-3.1-8B", "Gemma-3-12B"))
for length in (1, 1024, 5120, 5121, 131_072):
    kib = [kv_cache_bytes(config, length) // 2**10 for config in (llama, gemma)]
    print(f"{length} tokens: Llama {kib[0]:,} KiB, Gemma {kib[1]:,} KiB")
#> 1 tokens: Llama 128 KiB, Gemma 384 KiB
#> 1024 tokens: Llama 131,072 KiB, Gemma 393,216 KiB
#> 5120 tokens: Llama 655,360 KiB, Gemma 655,360 KiB
#> 5121 tokens: Llama 655,488 KiB, Gemma 655,424 KiB
#> 131072 tokens: Llama 16,777,216 KiB, Gemma 8,716,288 KiB
