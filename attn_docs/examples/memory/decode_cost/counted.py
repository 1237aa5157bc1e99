import torch
from torch.utils.flop_counter import FlopCounterMode

from attn_docs import (
    GroupedQueryAttention,
    KVCache,
    decode_cost,
    grouped_query_attention_broadcast,
    projection_cost,
)

sizes = {"num_heads": 6, "num_kv_heads": 2, "head_dim": 4}
attend = GroupedQueryAttention(24, 6, 2, attend=grouped_query_attention_broadcast)
cache = KVCache(batch=3, num_kv_heads=2, head_dim=4, capacity=10)
with torch.no_grad(), FlopCounterMode(display=False):
    attend(torch.randn(3, 9, 24), is_causal=True, cache=cache)  # 9 positions
with torch.no_grad(), FlopCounterMode(display=False) as counter:
    attend(torch.randn(3, 1, 24), is_causal=True, cache=cache)  # the tenth

attention = decode_cost(10, **sizes, batch=3, bytes_per_number=4)
projections = projection_cost(24, **sizes, batch=3, bytes_per_number=4)
print("FLOP: ", attention.plus(projections).flops, counter.get_total_flops())
#> FLOP:  12096 12096
print("bytes:", attention.bytes, cache.nbytes)
#> bytes: 1920 1920
weights = [layer.weight.nbytes for layer in attend.children()]
print("bytes:", projections.bytes, sum(weights))
#> bytes: 6144 6144
