import math

import torch
import torch.nn.functional as F

from attn_docs.position.extrapolation import diluted
from attn_docs.testing import check_attention

TRAINED = 4096


def attend(query, key, value):
    sharper = max(1.0, math.log(key.size(-2)) / math.log(TRAINED))
    return F.scaled_dot_product_attention(
        query, key, value, scale=sharper / math.sqrt(query.size(-1))
    )


print(check_attention(attend).verdict)
#> passed
keys = torch.tensor([11.3] + 32_767 * [0.0]).view(1, -1, 1)  # one leads all others by 11.3
first = (torch.arange(32_768) == 0).float().view(1, -1, 1)
weight = attend(torch.ones(1, 1, 1), keys, first).item()
print(f"{weight:.2f} instead of {diluted(11.3, 32_768):.2f}")
#> 0.98 instead of 0.71
