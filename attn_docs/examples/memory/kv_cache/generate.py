import torch

from attn_docs import MultiHeadAttention, RotaryEmbedding

torch.manual_seed(1)
words = "the cat sleeps it dreams and a dog".split()
embed, logits = torch.nn.Embedding(len(words), 24), torch.nn.Linear(24, len(words))
layers = [MultiHeadAttention(24, 6, rotary=RotaryEmbedding(4)) for _ in range(2)]

for cached in (True, False):
    caches = [layer.new_cache(batch=1, capacity=12) if cached else None for layer in layers]
    text = new = [0, 1, 2]  # "the cat sleeps"
    sent = 0
    for _ in range(9):
        with torch.no_grad():
            x = embed(torch.tensor([new]))  # 1 n D
            for layer, cache in zip(layers, caches, strict=True):
                x = x + layer(x, is_causal=True, cache=cache)  # 1 n D
        sent += len(new)
        text = [*text, logits(x[0, -1]).argmax().item()]  # the word with the highest logit
        new = text[-1:] if cached else text  # the whole difference
    print(*(words[token] for token in text), f"| {sent} tokens sent through the layers")
#> the cat sleeps and cat a dog sleeps and cat a dog | 11 tokens sent through the layers
#> the cat sleeps and cat a dog sleeps and cat a dog | 63 tokens sent through the layers
