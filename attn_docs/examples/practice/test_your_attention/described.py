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

names = {"is_causal": "causal", "scale": "softmax_scale"}
print(check_attention(flash, layout="bnhd", names=names).headline)
#> flash: passed; formula: judged; 18 pass, 16 not applicable
