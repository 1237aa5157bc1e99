from attn_docs import load_models, longest_context

model = load_models()["Llama-3.1-70B"]
exact, rounded = model.weight_bytes, 2 * 70 * 10**9
label, reported = 141 * 10**9, 143_771 * 2**20  # an H200: its name, and its driver

for memory, weights in ((label, rounded), (label, exact), (reported, exact)):
    room = memory - weights
    fits = f"{longest_context(model.config, room)} tokens" if room >= 0 else "does not fit"
    print(f"{memory / 1e9:.1f} GB of memory, {weights / 1e9:.1f} GB of weights: {fits}")
#> 141.0 GB of memory, 140.0 GB of weights: 3051 tokens
#> 141.0 GB of memory, 141.1 GB of weights: does not fit
#> 150.8 GB of memory, 141.1 GB of weights: 29441 tokens
