import torch

from attn_docs import causal_mask, padding_mask, sliding_window_mask

causal = torch.ones(5, 5, dtype=torch.bool).tril()
print(torch.equal(causal, causal_mask(5)))
#> True

window = torch.ones(5, 5, dtype=torch.bool).tril().triu(-1)
print(torch.equal(window, sliding_window_mask(5, window=2)))
#> True

prefix = torch.ones(5, 5, dtype=torch.bool).tril() | (torch.arange(5) < 2)
print(torch.equal(prefix, causal_mask(5) | padding_mask([2], 5)))
#> True

keep = torch.arange(5) < 4
padded = torch.ones(5, 5, dtype=torch.bool).tril() & keep
print(torch.equal(padded, causal_mask(5) & padding_mask([4], 5)))
#> True

i, j = torch.arange(5)[:, None], torch.arange(5)  # queries, keys
both_sides = (i - j).abs() <= 1  # one word on each side
print(both_sides.sum(1).tolist())  # how many keys each query sees
#> [2, 3, 3, 3, 2]
