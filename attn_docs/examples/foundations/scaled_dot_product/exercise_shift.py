import torch

from attn_docs import scaled_dot_product_attention

torch.manual_seed(0)
query = torch.randn(5, 4, dtype=torch.float64)
key = torch.randn(7, 4, dtype=torch.float64)
value = torch.randn(7, 6, dtype=torch.float64)
shift = torch.randn(4, dtype=torch.float64)

before = scaled_dot_product_attention(query, key, value)
after = scaled_dot_product_attention(query, key + shift, value)
print(torch.allclose(before, after))
#> True
