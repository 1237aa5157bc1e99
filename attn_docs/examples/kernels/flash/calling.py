import torch
import torch.nn.functional as F
from torch.nn.attention.bias import causal_lower_right

from attn_docs import flash_attention

torch.manual_seed(0)
query, key = torch.randn(1, 1, 2, 4), torch.randn(1, 1, 6, 4)  # b h n d, b h m d
value = torch.eye(6)[None, None]  # b h m m: the output is the weights
upper_left = flash_attention(query, key, value, is_causal=True)
lower_right = F.scaled_dot_product_attention(query, key, value, causal_lower_right(2, 6))
print("is_causal=True     ", (upper_left[0, 0] > 0).int().tolist())
#> is_causal=True      [[1, 0, 0, 0, 0, 0], [1, 1, 0, 0, 0, 0]]
print("causal_lower_right ", (lower_right[0, 0] > 0).int().tolist())
#> causal_lower_right  [[1, 1, 1, 1, 1, 0], [1, 1, 1, 1, 1, 1]]
