import torch

from attn_docs import AdditiveAttention
from attn_docs.exhibits.foundations import additive_without_pairs, additive_without_tanh

torch.manual_seed(0)
attend = AdditiveAttention(query_dim=4, key_dim=6, hidden_dim=8).double()
w_q, w_k, u = (p for p in attend.requires_grad_(False).parameters())
query, key, value = (torch.randn(5, size).double() for size in (4, 6, 3))
other = query.clone()
other[0] += 1  # another first query
everything = torch.ones(5, 5, dtype=torch.bool)


def right(query, key, value, *_):
    return attend(query[None], key[None], value[None])[0]


for name, attention in (
    ("right", right),
    ("without tanh", additive_without_tanh.attention),
    ("without pairs", additive_without_pairs.attention),
):
    outputs = [attention(q, key, value, w_q, w_k, u[0], everything) for q in (query, other)]
    changed = (outputs[0] - outputs[1]).abs().amax(dim=-1) > 1e-9
    print(f"{name:14} {tuple(outputs[0].shape)} changed: {changed.int().tolist()}")
#> right          (5, 3) changed: [1, 0, 0, 0, 0]
#> without tanh   (5, 3) changed: [0, 0, 0, 0, 0]
#> without pairs  (5, 3) changed: [1, 1, 1, 1, 1]
