import torch
import torch.nn.functional as F

from attn_docs import attention_kernels
from attn_docs.testing import check_attention


def attend(query, key, value):
    """Attend by a fused kernel, also if values are longer or shorter than keys."""
    more = value.size(-1) - query.size(-1)
    query, key = F.pad(query, (0, more)), F.pad(key, (0, more))  # zeros change no product
    return F.scaled_dot_product_attention(query, key, value)


query, key = torch.randn(2, 4, 5, 16), torch.randn(2, 4, 7, 16)
value = torch.randn(2, 4, 7, 24)
print(attention_kernels(lambda: attend(query, key, value)))
#> ['FLASH_ATTENTION']
print(check_attention(attend).verdict)
#> failed
