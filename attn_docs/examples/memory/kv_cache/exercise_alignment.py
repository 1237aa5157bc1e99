import torch

from attn_docs import GroupedQueryAttention, merge_heads, split_heads
from attn_docs.exhibits.memory import causal_with_cache
from attn_docs.testing import Adapter, check_module


def step(module, x, cache):
    query = split_heads(module.q_proj(x), 6)
    key, value = (split_heads(p(x), 3) for p in (module.k_proj, module.v_proj))
    heads, cache = causal_with_cache.step(query, key, value, cache)
    return module.out_proj(merge_heads(heads)), cache


torch.manual_seed(0)
attend = GroupedQueryAttention(24, 6, 3)
report = check_module(attend, embed_dim=24, num_heads=6, adapter=Adapter(step=step))
(failure,) = report.failures
print(failure.property)
#> cache
print(failure.cause.split(", ")[1])
#> the causal mask is aligned with the first key
