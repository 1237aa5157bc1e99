import math

import torch

from attn_docs import AdditiveAttention

torch.manual_seed(0)
attend = AdditiveAttention(query_dim=4, key_dim=6, hidden_dim=7).double()
query, key, value = (torch.randn(*s).double() for s in ((1, 3, 4), (1, 5, 6), (1, 5, 2)))
w_q, w_k, u = (p.tolist() for p in attend.parameters())


def score(q, k):
    """One pair, one number at a time."""
    total = 0.0
    for unit in range(7):
        inside = sum(w * x for w, x in zip(w_q[unit], q, strict=True))
        inside += sum(w * x for w, x in zip(w_k[unit], k, strict=True))
        total += u[0][unit] * math.tanh(inside)
    return total


for i, q in enumerate(query[0].tolist()):
    powers = [math.exp(score(q, k)) for k in key[0].tolist()]
    mixed = [sum(p * v[c] for p, v in zip(powers, value[0].tolist(), strict=True)) for c in (0, 1)]
    looped = torch.tensor(mixed, dtype=torch.float64) / sum(powers)
    print((attend(query, key, value)[0, i] - looped).abs().max().item() < 1e-12)
#> True
#> True
#> True
