import torch

from attn_docs import GroupedQueryAttention, RotaryEmbedding

torch.manual_seed(0)
layer = GroupedQueryAttention(48, 6, 2, window=5, rotary=RotaryEmbedding(8)).eval()
x = torch.randn(2, 23, 48)

with torch.no_grad():
    training = layer(x, is_causal=True)  # no cache: the layer makes the mask
    cache = layer.new_cache(batch=2, capacity=23)
    parts = x[:, :19].split((4, 9, 6), dim=1)
    prefill = [layer(part, is_causal=True, cache=cache) for part in parts]
    decoding = [layer(x[:, [t]], is_causal=True, cache=cache) for t in range(19, 23)]
print(torch.allclose(torch.cat((*prefill, *decoding), dim=1), training, atol=1e-6))
#> True
print(tuple(cache.key.shape), cache.length)
#> (2, 2, 5, 8) 23
