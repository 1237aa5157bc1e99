import torch

from attn_docs import KVCache, MultiHeadAttention

torch.manual_seed(0)
layer, tokens = MultiHeadAttention(6, num_heads=1, bias=False), torch.randn(1, 5, 6)
cache = KVCache(batch=1, num_kv_heads=1, head_dim=6, capacity=5)
layer(tokens[:, :3], is_causal=True, cache=cache)

s, x = cache.length, tokens[0, 3:]  # three tokens are cached, two are new: n embed_dim
key = torch.cat((cache.key[0, 0, :s], x @ layer.k_proj.weight.T))  # m d
value = torch.cat((cache.value[0, 0, :s], x @ layer.v_proj.weight.T))  # m d
query = x @ layer.q_proj.weight.T  # n d
i, j = torch.arange(2).unsqueeze(1), torch.arange(5)
mask = torch.zeros(2, 5).masked_fill(j > i + s, float("-inf"))  # n m
scores = query @ key.T / query.size(-1) ** 0.5  # n m
output = torch.softmax(scores + mask, dim=-1) @ value  # n d

step = layer(tokens[:, 3:], is_causal=True, cache=cache)
print(torch.allclose(step, output @ layer.out_proj.weight.T, atol=1e-6))
#> True
