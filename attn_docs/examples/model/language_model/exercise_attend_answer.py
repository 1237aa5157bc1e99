import math

import torch

from attn_docs import MultiHeadAttention, RotaryEmbedding
from attn_docs.model import load_weights
from attn_docs.model.language_model import continue_text, language_model
from attn_docs.testing import check_attention


def attend(query, key, value, attn_mask=None, is_causal=False, scale=None):
    """Boolean masks, True where allowed. b h n d, b h m d, b h m e."""
    scale = 1 / math.sqrt(query.size(-1)) if scale is None else scale
    scores = query @ key.mT * scale  # b h n m
    n, m = scores.shape[-2:]
    allowed = torch.ones(n, m, dtype=torch.bool, device=query.device)
    if is_causal:
        allowed = allowed.tril(m - n)
    if attn_mask is not None:
        allowed = allowed & attn_mask
    some = allowed.any(-1, keepdim=True)  # a query with no key at all gets zeros
    return torch.softmax(scores.masked_fill(some & ~allowed, -math.inf), -1) * some @ value


print(check_attention(attend).verdict)
#> passed


def called_as_pytorch(query, key, value, attn_mask, dropout_p, is_causal):
    return attend(query, key, value, attn_mask, is_causal)


def attention():
    return MultiHeadAttention(64, 4, rotary=RotaryEmbedding(16), attend=called_as_pytorch)


model = language_model(attention=attention)
model.load_state_dict(load_weights("language-model"))
prompt = "zoe has a white hen and"
print("…", continue_text(model, prompt)[len(prompt) :], end="")
#> …  max has a black cat. the hen sleeps in the barn. it dreams of worms. max sees the white hen.
