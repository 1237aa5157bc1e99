from attn_docs import load_models, longest_context

memory = 24_207 * 2**20  # bytes of an RTX 4090, as PyTorch finds them
models = load_models()
for name in ("Llama-2-7B", "Llama-3.1-8B", "Mistral-7B v0.1", "gpt-oss-20b"):
    room = memory - models[name].weight_bytes
    tokens = longest_context(models[name].config, room)
    print(f"{name}: {room / 2**30:.1f} GiB left, {tokens} tokens")
#> Llama-2-7B: 11.1 GiB left, 22708 tokens
#> Llama-3.1-8B: 8.7 GiB left, 71123 tokens
#> Mistral-7B v0.1: 10.2 GiB left, None tokens
#> gpt-oss-20b: 10.8 GiB left, 472756 tokens
