from torch import nn

from attn_docs import GroupedQueryAttention, RotaryEmbedding

LAYERS, EVERY, WINDOW = 12, 6, 1024  # Gemma 3: five local layers, then a global one

layers = nn.ModuleList()
for i in range(LAYERS):
    local = (i + 1) % EVERY != 0  # layers count from 0, so the sixth has number 5
    rotary = RotaryEmbedding(16, theta=10_000.0 if local else 1_000_000.0)
    layers.append(
        GroupedQueryAttention(64, 4, 2, bias=False, window=WINDOW if local else None, rotary=rotary)
    )
print("".join("L" if layer.window else "G" for layer in layers))
#> LLLLLGLLLLLG
caches = [layer.new_cache(batch=1, capacity=4096) for layer in layers]  # each fits its layer
print([cache.key.size(2) for cache in caches[3:7]])
#> [1024, 1024, 4096, 1024]
