import math

import torch.nn.functional as F

from attn_docs.testing import check_attention

TRAINED = 4096


def attend(query, key, value):
    sharper = math.log(key.size(-2)) / math.log(TRAINED)  # short texts suffer from it
    return F.scaled_dot_product_attention(
        query, key, value, scale=sharper / math.sqrt(query.size(-1))
    )


print(check_attention(attend).verdict)
#> failed
