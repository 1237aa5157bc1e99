import torch

from attn_docs import attention_with_lse, merge_attention

query, key, value = (torch.randn(rows, 4, dtype=torch.float64) for rows in (3, 8, 8))
pairs = zip(key.split(2), value.split(2), strict=True)
a, b, c, d = (attention_with_lse(query, k, v) for k, v in pairs)


def both(one, other):
    return merge_attention(*zip(one, other, strict=True))


orders = {
    "one after the other": both(both(both(a, b), c), d),
    "backwards": both(d, both(c, both(b, a))),
    "as a tree": both(both(a, c), both(d, b)),
    "all at once": merge_attention(*zip(c, a, d, b, strict=True)),
}
whole = attention_with_lse(query, key, value)
for name, found in orders.items():
    same = [torch.allclose(*pair, atol=1e-14) for pair in zip(found, whole, strict=True)]
    print(f"{name:20}", *same)
#> one after the other  True True
#> backwards            True True
#> as a tree            True True
#> all at once          True True
