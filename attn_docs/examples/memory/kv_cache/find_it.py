import torch

from attn_docs import GroupedQueryAttention

torch.manual_seed(0)
layers = [GroupedQueryAttention(24, 6, 3).eval() for _ in range(2)]
x = torch.randn(1, 6, 24)


def model(tokens, caches):  # b n D
    for layer in layers:
        tokens = tokens + layer(tokens, is_causal=True, cache=caches.get(layer))
    return tokens


caches = dict.fromkeys(layers, layers[0].new_cache(batch=1, capacity=64))
steps = [model(new, caches) for new in x.split((4, 1, 1), dim=1)]
same = torch.isclose(torch.cat(steps, dim=1), model(x, {}), atol=1e-5).all(-1)
print(same.int().tolist())
#> [[0, 0, 0, 0, 0, 0]]
