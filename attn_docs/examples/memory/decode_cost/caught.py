import torch
from torch.utils.flop_counter import FlopCounterMode

from attn_docs import KVCache, MultiHeadAttention, decode_cost
from attn_docs.exhibits.memory import (
    decode_one_flop,
    decode_recomputes,
    decode_shared_cache,
)

torch.manual_seed(0)
attend, words = MultiHeadAttention(24, 6).eval(), torch.randn(1, 10, 24)
cache = KVCache(1, 6, 4, capacity=10)
with torch.no_grad(), FlopCounterMode(display=False) as again:
    wrong = decode_recomputes.decode(attend, words, cache)
with torch.no_grad(), FlopCounterMode(display=False) as once:
    steps = [attend(words[:, [t]], is_causal=True, cache=cache) for t in range(10)]
print("same output:", torch.allclose(wrong, torch.cat(steps, 1), atol=1e-6))
#> same output: True
print(f"FLOP: {again.get_total_flops() / once.get_total_flops():.1f}× as many")
#> FLOP: 5.5× as many

sizes = {"num_heads": 32, "num_kv_heads": 8}
right = decode_cost(1000, **sizes, head_dim=128, batch=16).intensity
print("FLOP per byte:", right)
#> FLOP per byte: 4.0
print("  multiply-add as one:", decode_one_flop.intensity(**sizes, bytes_per_number=2))
#>   multiply-add as one: 2.0
found = decode_shared_cache.intensity(16, 1000, **sizes, head_dim=128, bytes_per_number=2)
print("  one cache for all:  ", found)
#>   one cache for all:   64.0
