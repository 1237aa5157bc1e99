from attn_docs import load_models, longest_context

memory = 24_564 * 2**20  # bytes of an RTX 4090, as its driver reports them
models = load_models()
for name in ("Llama-2-7B", "Llama-3.1-8B", "Mistral-7B v0.1", "gpt-oss-20b"):
    room = memory - models[name].weight_bytes
    tokens = longest_context(models[name].config, room)
    print(f"{name}: {room / 2**30:.1f} GiB left, {tokens} tokens")
#> Llama-2-7B: 11.4 GiB left, 23422 tokens
#> Llama-3.1-8B: 9.0 GiB left, 73979 tokens
#> Mistral-7B v0.1: 10.5 GiB left, None tokens
#> gpt-oss-20b: 11.2 GiB left, 487988 tokens
