import torch

from attn_docs import MultiQueryAttention
from attn_docs.exhibits.heads import averaged_heads, expanded_before_caching

torch.manual_seed(0)
query, key, value = torch.randn(1, 8, 1, 4), torch.randn(1, 1, 1, 4), torch.randn(1, 1, 1, 4)
_, cache = expanded_before_caching.step(query, key, value, None)
_, cache = expanded_before_caching.step(query, key, value, cache)
print(cache.untyped_storage().nbytes(), "bytes; should be", 2 * 2 * 4 * 4)
#> 512 bytes; should be 64
for kind in (averaged_heads.MultiQueryAttention, MultiQueryAttention):
    print(sum(p.numel() for p in kind(embed_dim=32, num_heads=8).parameters()))
#> 4224
#> 2376
