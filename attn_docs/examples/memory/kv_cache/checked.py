import torch

from attn_docs import GroupedQueryAttention, KVCache, RotaryEmbedding
from attn_docs.testing import Adapter, check_module


def step(module, x, cache):  # the next few positions
    if cache is None:
        cache = KVCache(x.size(0), 3, head_dim=4, capacity=64, dtype=x.dtype)
    return module(x, is_causal=True, cache=cache), cache


torch.manual_seed(0)
attend = GroupedQueryAttention(24, 6, 3, rotary=RotaryEmbedding(4))
adapter = Adapter(step=step, context=None)
known = {"embed_dim": 24, "num_heads": 6, "positions": True}
report = check_module(attend, **known, adapter=adapter)
print(report.passed)
#> True
