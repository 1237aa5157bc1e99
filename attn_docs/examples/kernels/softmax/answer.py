import torch

from attn_docs.testing import check_attention


def attend(query, key, value, block=4):  # … n d, … m d, … m e
    query = query.float() / query.size(-1) ** 0.5
    top = query.new_full(query.shape[:-1], -torch.inf)  # … n
    total, mixed = torch.zeros_like(top), 0
    for k, v in zip(key.split(block, dim=-2), value.split(block, dim=-2), strict=True):
        scores = query @ k.float().mT  # … n block
        new = torch.maximum(top, scores.amax(-1))  # … n
        shrink = torch.exp(top - new)
        powers = torch.exp(scores - new[..., None])
        total = shrink * total + powers.sum(-1)
        mixed = shrink[..., None] * mixed + powers @ v.float()  # … n e
        top = new
    return (mixed / total[..., None]).to(value.dtype)  # … n e


print(check_attention(attend).verdict)
#> passed
