import torch

from attn_docs import KVCache, MultiHeadAttention, decode_cost
from attn_docs.exhibits.memory import (
    decode_one_flop,
    decode_recomputes,
    decode_shared_cache,
)

torch.manual_seed(0)
attend, tokens = MultiHeadAttention(24, 6).eval(), torch.randn(1, 10, 24)
made = []  # how many keys each call of the projection makes
attend.k_proj.register_forward_hook(lambda *call: made.append(call[-1].size(1)))

cache = KVCache(1, 6, 4, capacity=10)
steps = [attend(tokens[:, [t]], is_causal=True, cache=cache) for t in range(10)]
print("keys made:", sum(made))
#> keys made: 10
made.clear()
wrong = decode_recomputes.decode(attend, tokens, cache)
print("recomputed:", sum(made), torch.allclose(wrong, torch.cat(steps, 1), atol=1e-6))
#> recomputed: 55 True

sizes = {"num_heads": 32, "num_kv_heads": 8}
right = decode_cost(1000, **sizes, head_dim=128, batch=16).intensity
print("FLOP per byte:", right)
#> FLOP per byte: 4.0
one = decode_one_flop.intensity(**sizes, bytes_per_number=2)
print("  multiply-add as one:", one)
#>   multiply-add as one: 2.0
sizes |= {"head_dim": 128, "bytes_per_number": 2}
shared = decode_shared_cache.intensity(16, 1000, **sizes)
print("  one cache for all:  ", shared)
#>   one cache for all:   64.0
