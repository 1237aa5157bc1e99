import warnings

import torch
import torch.nn.functional as F
from torch.nn.attention.flex_attention import AuxRequest, flex_attention

from attn_docs import merge_attention

warnings.simplefilter("ignore")  # it runs uncompiled here, and says so
query, key, value = torch.randn(1, 32, 1, 128), *torch.randn(2, 1, 8, 4096, 128)  # b h n d
options = {"enable_gqa": True, "return_aux": AuxRequest(lse=True)}
pairs = zip(key.chunk(4, dim=2), value.chunk(4, dim=2), strict=True)
parts = [flex_attention(query, k, v, **options) for k, v in pairs]  # each b h n e, aux

output, _ = merge_attention([out for out, _ in parts], [aux.lse for _, aux in parts])
whole = F.scaled_dot_product_attention(query, key, value, enable_gqa=True)
print(torch.allclose(output, whole, atol=1e-6))
#> True
