import torch
import torch.nn.functional as F

from attn_docs import attention_by_hand
from attn_docs.exhibits.foundations import mistyped_value, swapped_roles, value_from_key

weights = [[0.2, 0.3, 0.5], [0.1, 0.8, 0.1], [0.3, 0.4, 0.3]]
values = [[1.0, 0.0, 0.5], [0.0, 1.0, 0.3], [0.5, 0.5, 0.8]]
computed = (torch.tensor(weights) @ torch.tensor(values))[1, 2].item()
print(f"typed {mistyped_value.weighted_mean():.2f}, computed {computed:.2f}")
#> typed 0.34, computed 0.37

torch.manual_seed(0)
query, key, value = (torch.randn(5, size, dtype=torch.float64) for size in (4, 4, 6))
wrong = swapped_roles.attention(query, key, value)
by_hand = torch.tensor(attention_by_hand(*(x.tolist() for x in (query, key, value)))[0])
print(tuple(wrong.shape), torch.allclose(wrong, by_hand.double()))
#> (5, 6) False

x, q_proj, k_proj, v_proj = (torch.randn(4, 4, dtype=torch.float64) for _ in range(4))
wrong = value_from_key.attention(x, q_proj, k_proj, v_proj)
right = F.scaled_dot_product_attention(x @ q_proj, x @ k_proj, x @ v_proj)
print(tuple(wrong.shape), torch.allclose(wrong, right))
#> (4, 4) False
other = value_from_key.attention(x, q_proj, k_proj, 2 * v_proj)
print(torch.equal(wrong, other))  # v_proj changes nothing: it is never used
#> True
