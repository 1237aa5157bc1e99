import torch

from attn_docs import KVCache, MultiQueryAttention, RotaryEmbedding, sliding_window_mask

torch.manual_seed(0)
attend = MultiQueryAttention(12, 3, rotary=RotaryEmbedding(4))
x = torch.randn(2, 9, 12)
full = attend(x, attn_mask=sliding_window_mask(9, window=3))

for sizes in ((9,), (4, 5), (2, 2, 2, 3), (1,) * 9):
    cache = KVCache(batch=2, num_kv_heads=1, head_dim=4, capacity=9, window=3)
    parts = [attend(new, is_causal=True, cache=cache) for new in x.split(sizes, dim=1)]
    same = torch.allclose(torch.cat(parts, dim=1), full, atol=1e-6)
    print(same, "slots:", cache.key.size(2), "chunks:", sizes)
#> True slots: 3 chunks: (9,)
#> True slots: 3 chunks: (4, 5)
#> True slots: 3 chunks: (2, 2, 2, 3)
#> True slots: 3 chunks: (1, 1, 1, 1, 1, 1, 1, 1, 1)
