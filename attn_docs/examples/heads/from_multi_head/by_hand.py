import math

import torch

from attn_docs import MultiHeadAttention, multi_head_to_grouped_query

# two heads of size 1; a token is a vector of two numbers
words = torch.tensor([[[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]]])  # "the", "cat", "sleeps"
multi = MultiHeadAttention(embed_dim=2, num_heads=2, bias=False)
with torch.no_grad():
    multi.q_proj.weight.copy_(torch.tensor([[0.0, 1.0], [0.0, 1.0]]) * math.log(2))
    multi.k_proj.weight.copy_(torch.tensor([[2.0, 0.0], [0.0, 2.0]]))
    multi.v_proj.weight.copy_(torch.tensor([[18.0, 0.0], [0.0, 12.0]]))
    multi.out_proj.weight.copy_(torch.eye(2))  # what each head found, side by side

pooled = multi_head_to_grouped_query(multi, num_kv_heads=1)
print("key row:  ", pooled.k_proj.weight.tolist())
#> key row:   [[1.0, 1.0]]
print("value row:", pooled.v_proj.weight.tolist())
#> value row: [[9.0, 6.0]]
for name, module in (("before", multi), ("after ", pooled)):
    found = module(words)[0, 2]  # what "sleeps" finds
    print(name, found.detach())
#> before tensor([12.,  8.])
#> after  tensor([6., 6.])
