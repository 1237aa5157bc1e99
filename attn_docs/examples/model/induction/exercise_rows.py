import torch

from attn_docs import MultiHeadAttention
from attn_docs.exhibits.model.head_off_by_rows import head_off

torch.manual_seed(0)
x = torch.randn(1, 5, 8)
for num_heads in (1, 4):
    attention = MultiHeadAttention(8, num_heads, bias=False)
    head_off(attention, 0)
    output = attention(x)  # b n D
    print(f"{num_heads} heads, elements of the output that are zero:", (output == 0).sum().item())
#> 1 heads, elements of the output that are zero: 40
#> 4 heads, elements of the output that are zero: 10
