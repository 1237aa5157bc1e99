import torch

from attn_docs.testing import check_attention


def attend(query, key, value, attn_mask=None, is_causal=False):
    scores = query @ key.mT / query.size(-1) ** 0.5
    if is_causal:
        attn_mask = torch.ones(scores.shape[-2:], dtype=torch.bool).tril(1)
    if attn_mask is not None:
        scores = scores.masked_fill(~attn_mask, -1e9)
    return scores.softmax(-1) @ value

for finding in check_attention(attend).failures:
    print(f"{finding.property}: {finding.cause}")
#> mask used: attn_mask is ignored when is_causal=True is given
#> causality: the causal mask is off by one: a position sees the next one
#> prefix: later positions change earlier ones
#> half precision: the fill value of the mask is too large for float16: use −inf
