import torch

from attn_docs.testing import check_attention


def attend(query, key, value):  # b h n d, b h m d, b h m e
    output = torch.zeros(*query.shape[:-1], value.size(-1)).to(value)  # b h n e
    for i in reversed(range(query.size(-2))):  # the last query first
        output[..., i, :] = value.mean(-2)  # replace this: query i, all keys, all values
    return output


print(check_attention(attend).verdict)
#> failed
