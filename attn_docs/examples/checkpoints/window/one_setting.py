import torch

from attn_docs import GroupedQueryAttention, RotaryEmbedding, sliding_window_mask

torch.manual_seed(0)
options = {"bias": False, "rotary": RotaryEmbedding(8)}
layer = GroupedQueryAttention(48, 6, 2, window=5, **options).eval()
x = torch.randn(2, 23, 48)

with torch.no_grad():
    training = layer(x, is_causal=True)  # no cache: the layer makes the mask
    cache = layer.new_cache(batch=2, capacity=23)
    prefill = [layer(part, cache=cache) for part in x[:, :19].split((4, 9, 6), dim=1)]
    decoding = [layer(x[:, [t]], cache=cache) for t in range(19, 23)]
print(torch.allclose(torch.cat((*prefill, *decoding), dim=1), training, atol=1e-6))
#> True
print(tuple(cache.key.shape), cache.length)
#> (2, 2, 5, 8) 23

full = GroupedQueryAttention(48, 6, 2, **options).eval()  # the same, told by a mask
full.load_state_dict(layer.state_dict())
print(torch.allclose(full(x, attn_mask=sliding_window_mask(23, window=5)), training, atol=1e-6))
#> True
