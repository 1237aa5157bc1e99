import torch

from attn_docs import MultiHeadAttention, RotaryEmbedding

torch.manual_seed(1)
words = "the cat sleeps it dreams and a dog".split()
embed, logits = torch.nn.Embedding(len(words), 24), torch.nn.Linear(24, len(words))
layers = [MultiHeadAttention(24, 6, rotary=RotaryEmbedding(4)) for _ in range(2)]


@torch.no_grad()
def generate(text, steps, cached):
    caches = [layer.new_cache(1, len(text) + steps) if cached else None for layer in layers]
    new, sent = text, 0
    for _ in range(steps):
        x = embed(torch.tensor([new]))  # 1 n D
        for layer, cache in zip(layers, caches, strict=True):
            x = x + layer(x, is_causal=True, cache=cache)  # 1 n D
        highest = logits(x[0, -1]).argmax()  # a logit for each word, at the newest token
        sent += len(new)
        text = [*text, highest.item()]
        new = text[-1:] if cached else text  # the whole difference
    print(*(words[token] for token in text), f"| {sent} tokens sent through the layers")


for cached in (True, False):
    generate([0, 1, 2], 9, cached)
#> the cat sleeps and cat a dog sleeps and cat a dog | 11 tokens sent through the layers
#> the cat sleeps and cat a dog sleeps and cat a dog | 63 tokens sent through the layers
