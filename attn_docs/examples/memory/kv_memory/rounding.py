from attn_docs import load_models, longest_context

model = load_models()["Llama-3.1-70B"]
exact, rounded = model.weight_bytes, 2 * 70 * 10**9
label, found = 141 * 10**9, int(139.8 * 1024) * 2**20  # an H200: its name, and CUDA

for memory, weights in ((label, rounded), (label, exact), (found, exact)):
    room = memory - weights
    fits = f"{longest_context(model.config, room)} tokens" if room >= 0 else "does not fit"
    print(f"{memory / 1e9:.1f} GB of memory, {weights / 1e9:.1f} GB of weights: {fits}")
#> 141.0 GB of memory, 140.0 GB of weights: 3051 tokens
#> 141.0 GB of memory, 141.1 GB of weights: does not fit
#> 150.1 GB of memory, 141.1 GB of weights: 27470 tokens
