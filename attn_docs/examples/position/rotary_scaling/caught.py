import torch
import torch.nn.functional as F

from attn_docs import (
    DynamicScaling,
    GroupedQueryAttention,
    Llama3Scaling,
    MultiHeadAttention,
    ProportionalScaling,
    RotaryEmbedding,
    YaRNScaling,
)
from attn_docs.exhibits.position import (
    dynamic_cached,
    factor_twice,
    partial_for_proportional,
    rule_forgotten,
)

torch.manual_seed(0)
torch.set_grad_enabled(False)
x, positions = torch.randn(1, 12, 64), 1500 * torch.arange(12)

rotary = RotaryEmbedding(16, theta=500000.0, scaling=Llama3Scaling(8.0, 8192))
llama = GroupedQueryAttention(64, 4, 2, bias=False, rotary=rotary)
loaded = rule_forgotten.load(llama.state_dict(), 64, 4, 2)
pairs = {"rule_forgotten": [each(x, positions=positions) for each in (loaded, llama)]}

yarn, (query, key, value) = YaRNScaling(40.0, 4096), torch.randn(3, 1, 2, 12, 16).unbind()
rotated = RotaryEmbedding(16, scaling=yarn).rotate(query, key, positions)
right = F.scaled_dot_product_attention(*rotated, value, is_causal=True)
pairs["factor_twice"] = [factor_twice.attention(query, key, value, positions, yarn), right]

dynamic = DynamicScaling(4.0, original_length=4)
layer = MultiHeadAttention(64, 4, rotary=RotaryEmbedding(16, scaling=dynamic))
cache, last = layer.new_cache(1, 12), layer(x, is_causal=True)[:, -1]
steps = [dynamic_cached.step(layer, x[:, [t]], cache, dynamic, longest=12) for t in range(12)]
pairs["dynamic_cached"] = [steps[-1][:, 0], last]

gemma = RotaryEmbedding(16, theta=1000000.0, scaling=ProportionalScaling(0.25))
wrong = partial_for_proportional.rotary(16)
pairs["partial_for_proportional"] = [each(query, positions) for each in (wrong, gemma)]
for name, (found, wanted) in pairs.items():
    same = "equal" if torch.allclose(found, wanted, atol=1e-4) else "NOT equal"
    print(f"{name:25} shape {found.shape == wanted.shape}, {same}")
#> rule_forgotten            shape True, NOT equal
#> factor_twice              shape True, NOT equal
#> dynamic_cached            shape True, NOT equal
#> partial_for_proportional  shape True, NOT equal
