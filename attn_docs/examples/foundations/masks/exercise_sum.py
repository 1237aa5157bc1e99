import torch

from attn_docs import causal_mask, padding_mask, to_additive

causal, padding = causal_mask(3), padding_mask([2], max_len=3)
both = to_additive(causal) + to_additive(padding)
print(torch.equal(both, to_additive(causal & padding)))
#> True

lowest = torch.finfo(torch.float32).min
print(torch.tensor(lowest) + torch.tensor(lowest))  # the sum of two is −∞ after all
#> tensor(-inf)
