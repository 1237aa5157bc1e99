import torch

from attn_docs import (
    GroupedQueryAttention,
    RotaryEmbedding,
    causal_mask,
    merge_heads,
    sliding_window_mask,
    split_heads,
)
from attn_docs.exhibits.memory import (
    cache_overwritten,
    causal_with_cache,
    keys_at_the_end,
    position_zero,
    turned_again,
    window_off_by_one,
)

torch.manual_seed(0)
x, rotary = torch.randn(2, 7, 24), RotaryEmbedding(4)
attend = GroupedQueryAttention(24, 6, 3)
rotating = GroupedQueryAttention(24, 6, 3, rotary=rotary)
every, recent = causal_mask(7), sliding_window_mask(7, window=3)
ways = {
    causal_with_cache: (attend, every),
    cache_overwritten: (attend, every),
    window_off_by_one: (attend, recent),
    position_zero: (rotating, every),
    keys_at_the_end: (rotating, every),
    turned_again: (rotating, every),
}
for exhibit, (module, mask) in ways.items():
    options = () if module is attend else (rotary,)
    cache, outputs = None, []
    for new in x.split((4, 1, 1, 1), dim=1):  # prefill, then single tokens
        heads = (module.num_heads, module.num_kv_heads, module.num_kv_heads)
        layers = (module.q_proj, module.k_proj, module.v_proj)
        parts = [split_heads(p(new), h) for p, h in zip(layers, heads, strict=True)]
        found, cache = exhibit.step(*parts, cache, *options)
        outputs.append(module.out_proj(merge_heads(found)))
    full = module(x, attn_mask=mask)
    same = torch.isclose(torch.cat(outputs, dim=1), full, atol=1e-5)
    tokens = same.all(2).all(0).int().tolist()
    print(f"{exhibit.__name__.rpartition('.')[2]:18} same tokens: {tokens}")
#> causal_with_cache  same tokens: [1, 1, 1, 1, 0, 0, 0]
#> cache_overwritten  same tokens: [1, 1, 1, 1, 0, 0, 0]
#> window_off_by_one  same tokens: [1, 1, 1, 0, 0, 0, 0]
#> position_zero      same tokens: [1, 1, 1, 1, 0, 0, 0]
#> keys_at_the_end    same tokens: [1, 0, 0, 0, 0, 0, 0]
#> turned_again       same tokens: [1, 1, 1, 1, 0, 0, 0]
