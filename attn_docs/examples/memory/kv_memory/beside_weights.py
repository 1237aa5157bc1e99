from attn_docs import load_models, longest_context

models = load_models()
for name in ("Llama-2-7B", "Llama-3.1-8B", "Mistral-7B v0.1"):
    room = 24 * 10**9 - 2 * models[name].parameters  # bytes, weights in bfloat16
    print(f"{name}: {room / 1e9} GB left, {longest_context(models[name].config, room)} tokens")
#> Llama-2-7B: 10.0 GB left, 19073 tokens
#> Llama-3.1-8B: 8.0 GB left, 61035 tokens
#> Mistral-7B v0.1: 10.0 GB left, None tokens
