import torch
import torch.nn.functional as F

from attn_docs.testing import check_attention


def attend(query, key, value, is_causal=False, softcap=None, window=None):
    if is_causal and window is None:
        return F.scaled_dot_product_attention(query, key, value, is_causal=True)
    scores = query @ key.mT / query.size(-1) ** 0.5
    if softcap is not None:
        scores = softcap * torch.tanh(scores / softcap)
    seen = torch.ones(scores.shape[-2:], dtype=torch.bool)
    if is_causal:
        seen = seen.tril()
    if window is not None:
        seen = seen.triu(1 - window)
    return scores.masked_fill(~seen, -torch.inf).softmax(-1) @ value

for finding in check_attention(attend).failures:
    print(f"{finding.property}: {finding.cause}")
#> options used: accepted and ignored with is_causal=True: softcap=0.5
