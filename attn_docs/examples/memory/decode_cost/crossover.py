from attn_docs import kv_cache_bytes, load_models

for name in ("Llama-2-7B", "Llama-3.1-8B", "Llama-3.1-70B"):
    model = load_models()[name]
    token = kv_cache_bytes(model.config, 1)
    print(f"{name}: {model.weight_bytes} bytes of weights, {token} a token:", end=" ")
    print(f"as much at {model.weight_bytes / token:.0f} tokens")
#> Llama-2-7B: 13476831232 bytes of weights, 524288 a token: as much at 25705 tokens
#> Llama-3.1-8B: 16060522496 bytes of weights, 131072 a token: as much at 122532 tokens
#> Llama-3.1-70B: 141107412992 bytes of weights, 327680 a token: as much at 430626 tokens
