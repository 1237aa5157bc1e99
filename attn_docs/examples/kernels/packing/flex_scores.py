import warnings

import torch
from torch.nn.attention.flex_attention import create_block_mask, flex_attention

warnings.simplefilter("ignore")  # it runs uncompiled here, and says so
h, n, d = 4, 10, 8
query, key, value = torch.randn(3, 1, h, n, d)
slopes = 2.0 ** (-8 / h * torch.arange(1, h + 1))  # one for each head; h is a power of two


def alibi(score, b, head, q, kv):
    return score - slopes[head] * (q - kv)


def soft_cap(score, b, head, q, kv):
    return 20 * torch.tanh(score / 20)


i = torch.arange(n)
causal = create_block_mask(lambda b, head, q, kv: q >= kv, None, None, n, n, device="cpu")
scores = query @ key.mT / d**0.5  # b h n m
formulas = {
    alibi: scores - slopes[:, None, None] * (i[:, None] - i),
    soft_cap: 20 * (scores / 20).tanh(),
}
for mod, changed in formulas.items():
    output = flex_attention(query, key, value, score_mod=mod, block_mask=causal)
    weights = changed.masked_fill(i[:, None] < i, float("-inf")).softmax(dim=-1)
    print(torch.allclose(output, weights @ value, atol=1e-6))
#> True
#> True
