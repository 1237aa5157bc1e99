import torch

from attn_docs import GroupedQueryAttention, RotaryEmbedding

torch.manual_seed(0)
attend = GroupedQueryAttention(24, 6, 3, rotary=RotaryEmbedding(4))
x, rejected = torch.randn(2, 6, 24), torch.randn(2, 3, 24)
full = attend(x, is_causal=True)

cache = attend.new_cache(batch=2, capacity=8)
with torch.no_grad():  # or every call copies the cache, to keep what gradients need
    attend(x[:, :4], cache=cache)
    attend(rejected, cache=cache)  # three proposals that turn out wrong
    cache.crop(4)
    cache.select(torch.tensor([1, 1]))  # both beams go on from the second sequence
    rest = attend(x[[1, 1], 4:], cache=cache)
print(cache)
#> KVCache(batch=2, num_kv_heads=3, head_dim=4, length=6, capacity=8, torch.float32, cpu)
print(torch.allclose(rest, full[[1, 1], 4:], atol=1e-6))
#> True
