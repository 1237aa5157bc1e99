import torch

from attn_docs import GroupedQueryAttention, RotaryEmbedding
from attn_docs.exhibits.position import (
    key_heads_miscounted,
    only_query_converted,
    value_converted,
)

torch.manual_seed(0)
torch.set_grad_enabled(False)
x = torch.randn(2, 5, 16)
old = GroupedQueryAttention(16, 4, 2, rotary=RotaryEmbedding(4, interleaved=True))
new = GroupedQueryAttention(16, 4, 2, rotary=RotaryEmbedding(4))
for bug in (only_query_converted, value_converted, key_heads_miscounted):
    new.load_state_dict(bug.convert(old.state_dict(), num_heads=4, num_kv_heads=2))
    name = bug.__name__.rpartition(".")[2]
    first = torch.allclose(new(x[:, :1]), old(x[:, :1]), atol=1e-5)
    print(f"{name:20} one token: {first!s:5} five tokens: {torch.allclose(new(x), old(x))}")
#> only_query_converted one token: True  five tokens: False
#> value_converted      one token: False five tokens: False
#> key_heads_miscounted one token: True  five tokens: False
