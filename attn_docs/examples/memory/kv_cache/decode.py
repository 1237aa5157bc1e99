import torch

from attn_docs import GroupedQueryAttention, RotaryEmbedding

torch.manual_seed(0)
attend = GroupedQueryAttention(24, 6, 3, rotary=RotaryEmbedding(4))
x = torch.randn(2, 8, 24)  # b n embed_dim
full = attend(x, is_causal=True)  # all tokens at once, no cache

ways = {
    "prefill, then single tokens": (5, 1, 1, 1),
    "prefill in chunks": (3, 2, 2, 1),
    "single tokens only": (1,) * 8,
}
for name, sizes in ways.items():
    cache = attend.new_cache(batch=2, capacity=8)
    parts = [attend(new, cache=cache) for new in x.split(sizes, dim=1)]
    same = torch.allclose(torch.cat(parts, dim=1), full, atol=1e-6)
    print(f"{name:26} {same}, {cache.length} positions, {cache.nbytes} bytes")
#> prefill, then single tokens True, 8 positions, 1536 bytes
#> prefill in chunks          True, 8 positions, 1536 bytes
#> single tokens only         True, 8 positions, 1536 bytes
