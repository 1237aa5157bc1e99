import torch

from attn_docs import MultiHeadAttention, alibi_bias

torch.manual_seed(0)
torch.set_grad_enabled(False)
layer, x = MultiHeadAttention(24, 4), torch.randn(1, 8, 24)  # b n embed_dim
cache, outputs = layer.new_cache(batch=1, capacity=8), []
for token in x.split(1, dim=1):
    bias = alibi_bias(4, 1, offset=cache.length)  # 1 h 1 m: one row
    outputs.append(layer(token, attn_mask=bias, cache=cache))
whole = layer(x, attn_mask=alibi_bias(4, 8), is_causal=True)
print(torch.allclose(torch.cat(outputs, dim=1), whole, atol=1e-6))
#> True
