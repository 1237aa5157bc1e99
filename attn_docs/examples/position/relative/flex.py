import warnings

import torch
from torch.nn.attention.flex_attention import create_block_mask, flex_attention

from attn_docs import (
    RelativeBias,
    alibi_bias,
    alibi_slopes,
    scaled_dot_product_attention,
    t5_bucket,
)

warnings.simplefilter("ignore")  # uncompiled on a CPU, and it says so
torch.manual_seed(0)
query, key, value = torch.randn(3, 1, 12, 40, 8).unbind()  # b h n d each
slopes = alibi_slopes(12)  # h
t5 = RelativeBias(12, bidirectional=True)
table = torch.nn.init.normal_(t5.relative_attention_bias.weight)  # buckets × h, learned
bucket = t5_bucket(torch.arange(-39, 40), bidirectional=True)  # of each distance in 40 tokens


def alibi(score, _batch, head, q, kv):
    return score - slopes[head] * (q - kv).abs()


def learned(score, _batch, head, q, kv):
    return score + table[bucket[kv - q + 39], head]


causal = create_block_mask(lambda _batch, _head, q, kv: q >= kv, None, None, 40, 40, device="cpu")
output = flex_attention(query, key, value, score_mod=alibi, block_mask=causal)
wanted = scaled_dot_product_attention(query, key, value, alibi_bias(12, 40), is_causal=True)
print(torch.allclose(output, wanted, atol=1e-5))
#> True

with torch.enable_grad():  # a block above it may have turned gradients off
    outputs = (
        flex_attention(query, key, value, score_mod=learned),
        scaled_dot_product_attention(query, key, value, t5(40)),
    )
    gradients = [torch.autograd.grad(each.square().sum(), table)[0] for each in outputs]
print(torch.allclose(*outputs, atol=1e-5), torch.allclose(*gradients, atol=1e-4))
#> True True
