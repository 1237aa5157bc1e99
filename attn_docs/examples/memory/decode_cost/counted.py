import torch
from torch.utils._python_dispatch import TorchDispatchMode

from attn_docs import (
    GroupedQueryAttention,
    KVCache,
    decode_cost,
    grouped_query_attention_broadcast,
    projection_cost,
)


class Count(TorchDispatchMode):
    """Count the FLOP of every matrix product."""

    flops = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        result = func(*args, **(kwargs or {}))
        if func.name() in ("aten::mm", "aten::addmm", "aten::bmm"):
            left = args[-2]  # (…, rows, size) times (…, size, columns)
            self.flops += 2 * left.size(-1) * result.numel()
        return result


sizes = {"num_heads": 6, "num_kv_heads": 2, "head_dim": 4}
attend = GroupedQueryAttention(24, 6, 2, attend=grouped_query_attention_broadcast)
cache = KVCache(batch=3, num_kv_heads=2, head_dim=4, capacity=10)
with torch.no_grad():
    attend(torch.randn(3, 9, 24), is_causal=True, cache=cache)  # 9 tokens
    with Count() as counted:
        attend(torch.randn(3, 1, 24), is_causal=True, cache=cache)  # the tenth

attention = decode_cost(10, **sizes, batch=3, bytes_per_number=4)
projections = projection_cost(24, **sizes, batch=3, bytes_per_number=4)
print("FLOP: ", attention.plus(projections).flops, counted.flops)
#> FLOP:  12096 12096
print("cache:", attention.bytes, cache.nbytes, "bytes")
#> cache: 1920 1920 bytes
weights = sum(layer.weight.nbytes for layer in attend.children())
print("weights:", projections.bytes, weights, "bytes")
#> weights: 6144 6144 bytes
