import torch
from torch.nn import functional

from attn_docs.model.induction import build_model, encode, induction_score, load_model
from attn_docs.testing import check_attention

recorded = []


def attend(query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, *, scale=None):
    scores = query @ key.mT * (query.size(-1) ** -0.5 if scale is None else scale)  # … n m
    if is_causal:
        scores = scores.masked_fill(torch.ones_like(scores).triu(1).bool(), float("-inf"))
    if attn_mask is not None and attn_mask.dtype == torch.bool:
        scores = scores.masked_fill(~attn_mask, float("-inf"))
    elif attn_mask is not None:
        scores = scores + attn_mask
    empty = scores.isneginf().all(-1, keepdim=True)  # nothing to attend to
    weights = scores.masked_fill(empty, 0).softmax(-1).masked_fill(empty, 0)
    recorded.append(weights.detach())
    return functional.dropout(weights, dropout_p) @ value


print(check_attention(attend).verdict)
#> passed

recorded.clear()
model = build_model(attend=attend)
model.load_state_dict(load_model().state_dict())
tokens = encode("zqvx-zqvx-zqvx")
model(tokens)
first, second = recorded  # 1 1 n n each
print(f"induction score of layer 2: {induction_score(second, tokens):.2f}")
#> induction score of layer 2: 0.66
