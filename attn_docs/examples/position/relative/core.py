import torch
import torch.nn.functional as F

torch.manual_seed(0)
query, key, value = torch.randn(3, 2, 8, 5, 4).unbind()  # b h n d each
slopes = 2.0 ** -torch.arange(1, 9)  # h: 1/2, 1/4 and so on to 1/256
here = torch.arange(5)
distance = (here - here[:, None]).abs()  # n n: from each query to each key
bias = -slopes[:, None, None] * distance  # h n n
mask = bias.masked_fill(here > here[:, None], float("-inf"))  # later keys are hidden
output = F.scaled_dot_product_attention(query, key, value, attn_mask=mask)  # b h n d

from attn_docs import alibi_bias, scaled_dot_product_attention

mask = alibi_bias(num_heads=8, query_len=5)  # 1 h n n
theirs = scaled_dot_product_attention(query, key, value, mask, is_causal=True)
print(torch.allclose(output, theirs, atol=1e-6))
#> True
