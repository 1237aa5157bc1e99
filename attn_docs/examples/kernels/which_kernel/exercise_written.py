import torch
import torch.nn.functional as F

from attn_docs import attention_kernels
from attn_docs.testing import check_attention


def attend(query, key, value):
    """Attend by a fused kernel, also if values are longer or shorter than keys."""
    d, e = query.size(-1), value.size(-1)
    query, key, value = (F.pad(x, (0, max(d, e) - x.size(-1))) for x in (query, key, value))
    output = F.scaled_dot_product_attention(query, key, value, scale=d**-0.5)
    return output[..., :e]  # where values were padded, zeros came out


query, key = torch.randn(2, 4, 5, 16), torch.randn(2, 4, 7, 16)
for e in (8, 24):
    value = torch.randn(2, 4, 7, e)
    print(attention_kernels(lambda value=value: attend(query, key, value)))
#> ['FLASH_ATTENTION']
#> ['FLASH_ATTENTION']
print(check_attention(attend).verdict, check_attention(attend, value_dim=8).verdict)
#> passed passed
