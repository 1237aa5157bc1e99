from attn_docs.model.induction import SYMBOLS, encode, load_model

text = "zqvx-zqv"
logits, weights = load_model()(encode(text), need_weights=True)  # 1 n 32; a layer's are 1 1 n n
shares, best = logits[0, -1].softmax(-1).topk(3)
for token, share in zip(best.tolist(), shares.tolist(), strict=True):
    print(f"next {SYMBOLS[token]!r}: {share:.2f}")
#> next 'x': 0.85
#> next 'v': 0.01
#> next 'w': 0.01
for layer, maps in enumerate(weights, 1):
    place = maps[0, 0, -1].argmax().item()
    print(f"layer {layer} looks most at {text[place]!r}, place {place + 1}")
#> layer 1 looks most at 'q', place 7
#> layer 2 looks most at 'x', place 4
