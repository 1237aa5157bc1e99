from attn_docs.testing import check_attention


def attend(query, key, value, block=4):  # … n d, … m d, … m e
    query = query.float() / query.size(-1) ** 0.5
    mixed = 0
    for k, v in zip(key.split(block, dim=-2), value.split(block, dim=-2), strict=True):
        scores = query @ k.float().mT  # … n block
        # your lines: a new maximum, a sum beside the mix, both rescaled, the block added
        mixed = mixed + scores @ v.float()
    return mixed.to(value.dtype)  # … n e


print(check_attention(attend).verdict)
#> failed
