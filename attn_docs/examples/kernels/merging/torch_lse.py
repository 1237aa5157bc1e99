import warnings

import torch
import torch.nn.functional as F
from torch.nn.attention.flex_attention import AuxRequest, flex_attention

from attn_docs import merge_attention

warnings.simplefilter("ignore")  # it runs uncompiled here, and says so
query, key, value = torch.randn(1, 32, 1, 128), *torch.randn(2, 1, 8, 4096, 128)  # b h n d
outputs, lses = [], []
for k, v in zip(key.chunk(4, dim=2), value.chunk(4, dim=2), strict=True):
    output, aux = flex_attention(query, k, v, enable_gqa=True, return_aux=AuxRequest(lse=True))
    outputs.append(output)  # b h n e
    lses.append(aux.lse)  # b h n, a natural logarithm

output, _ = merge_attention(outputs, lses)
whole = F.scaled_dot_product_attention(query, key, value, enable_gqa=True)
print(torch.allclose(output, whole, atol=1e-6))
#> True
