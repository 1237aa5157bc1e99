from attn_docs import load_models

models = load_models()
for name in ("Gemma-2-27B", "DeepSeek-V2", "DeepSeek-V3", "PaLM 540B"):
    model = models[name]
    size = model.key_dim or model.config.head_dim
    print(f"{name}: {model.embed_dim} / {model.num_heads} = {model.embed_dim / model.num_heads:g},")
    print(f"    but heads of {size}, {model.num_heads} × {size} = {model.num_heads * size}")
#> Gemma-2-27B: 4608 / 32 = 144,
#>     but heads of 128, 32 × 128 = 4096
#> DeepSeek-V2: 5120 / 128 = 40,
#>     but heads of 192, 128 × 192 = 24576
#> DeepSeek-V3: 7168 / 128 = 56,
#>     but heads of 192, 128 × 192 = 24576
#> PaLM 540B: 18432 / 48 = 384,
#>     but heads of 256, 48 × 256 = 12288
