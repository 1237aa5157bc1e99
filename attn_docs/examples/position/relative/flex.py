import warnings

import torch
from torch.nn.attention.flex_attention import create_block_mask, flex_attention

from attn_docs import alibi_bias, alibi_slopes, scaled_dot_product_attention

warnings.simplefilter("ignore")  # uncompiled on a CPU, and it says so
torch.manual_seed(0)
query, key, value = torch.randn(3, 1, 12, 40, 8).unbind()  # b h n d each
slopes = alibi_slopes(12)  # h


def alibi(score, _batch, head, q, kv):
    return score - slopes[head] * (q - kv).abs()


causal = create_block_mask(lambda _batch, _head, q, kv: q >= kv, None, None, 40, 40, device="cpu")
output = flex_attention(query, key, value, score_mod=alibi, block_mask=causal)
wanted = scaled_dot_product_attention(query, key, value, alibi_bias(12, 40), is_causal=True)
print(torch.allclose(output, wanted, atol=1e-5))
#> True
