import torch

from attn_docs import MultiHeadAttention, multi_head_to_grouped_query

torch.manual_seed(0)
multi = MultiHeadAttention(24, num_heads=6)
at_once = multi_head_to_grouped_query(multi, 1)
halfway = multi_head_to_grouped_query(multi, 3)
in_steps = multi_head_to_grouped_query(halfway, 1)
print(torch.allclose(in_steps.k_proj.weight, at_once.k_proj.weight, atol=1e-6))
#> True
