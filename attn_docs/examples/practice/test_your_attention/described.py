import torch
import torch.nn.functional as F

from attn_docs.testing import check_attention


def flash(q, k, v, dropout_p=0.0, softmax_scale=None, causal=False):
    """The names, the layout and the alignment of flash-attn, computed by PyTorch."""
    q, k, v = (t.transpose(1, 2) for t in (q, k, v))  # from (batch, length, heads, size)
    n, m = q.size(2), k.size(2)
    mask = torch.ones(n, m, dtype=torch.bool).tril(m - n) if causal else None  # lower right
    y = F.scaled_dot_product_attention(q, k, v, mask, dropout_p, scale=softmax_scale)
    return y.transpose(1, 2)

def biased(query, key, value, bias=None):
    scores = query @ key.mT / query.size(-1) ** 0.5
    return ((scores if bias is None else scores + bias).softmax(-1)) @ value

def capped(query, key, value):
    scores = query @ key.mT / query.size(-1) ** 0.5
    return (30 * torch.tanh(scores / 30)).softmax(-1) @ value

names = {"is_causal": "causal", "scale": "softmax_scale"}
print(check_attention(flash, layout="bnhd", names=names).headline)
#> flash: passed; formula: judged; 18 pass, 16 not applicable
print(check_attention(biased, names={"attn_mask": "bias"}, mask_true="added").headline)
#> biased: passed; formula: judged; 22 pass, 12 not applicable
print(check_attention(capped, softcap=30.0).headline)
#> capped: passed; formula: judged; 15 pass, 19 not applicable
