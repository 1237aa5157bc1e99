import torch

from attn_docs import DynamicScaling, MultiHeadAttention, RotaryEmbedding

torch.manual_seed(0)
rule = DynamicScaling(4.0, original_length=16)
layer = MultiHeadAttention(64, 4, rotary=RotaryEmbedding(16, scaling=rule))
x = torch.randn(1, 64, 64)
try:
    layer(x, cache=layer.new_cache(1, 64))
except ValueError as refused:
    print(str(refused).partition(":")[0])
#> scaling must have fixed frequencies with a cache, as .at(length) returns

layer.rotary = RotaryEmbedding(16, scaling=rule.at(64))  # prompt and answer: 64 tokens at most
cache = layer.new_cache(1, 64)
steps = [layer(x[:, [t]], cache=cache) for t in range(64)]
print(torch.allclose(torch.cat(steps, dim=1), layer(x, is_causal=True), atol=1e-6))
#> True
