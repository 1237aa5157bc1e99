import torch

from attn_docs import KVCache, MultiHeadAttention, RotaryEmbedding, apply_rotary
from attn_docs.exhibits.position import (
    offset_forgotten,
    other_layout,
    positions_over_heads,
    turned_apart,
    value_turned,
)

torch.manual_seed(0)
torch.set_grad_enabled(False)
query, key, value = torch.randn(3, 2, 3, 5, 4).unbind()  # b h n d
positions = torch.arange(5)
rotated = [apply_rotary(x, positions) for x in (query, key)]
right = torch.nn.functional.scaled_dot_product_attention(*rotated, value)
by_length = [x.transpose(1, 2) for x in (query, key, value)]  # b n h d

model = MultiHeadAttention(12, 3, rotary=RotaryEmbedding(4, interleaved=True))
x, cache = torch.randn(2, 5, 12), KVCache(2, 3, 4, capacity=5)
steps = [offset_forgotten.step(model, x[:, [t]], cache) for t in range(5)]
rows = {
    "value_turned": (value_turned.attention(query, key, value, positions), right),
    "turned_apart": (turned_apart.attention(query, key, value, positions), right),
    "positions_over_heads": (positions_over_heads.attention(*by_length), right),
    "other_layout": (other_layout.load(model.state_dict(), 12, 3)(x), model(x)),
    "offset_forgotten": (torch.cat(steps, dim=1), model(x, is_causal=True)),
}
for name, (wrong, wanted) in rows.items():
    same = "equal" if torch.allclose(wrong, wanted, atol=1e-5) else "NOT equal"
    print(f"{name:20} shape {wrong.shape == wanted.shape}, {same}")
#> value_turned         shape True, NOT equal
#> turned_apart         shape True, NOT equal
#> positions_over_heads shape True, NOT equal
#> other_layout         shape True, NOT equal
#> offset_forgotten     shape True, NOT equal
