import torch

from attn_docs import causal_mask, mask_to_additive, padding_mask

causal, padding = causal_mask(3), padding_mask([2], max_len=3)
both = mask_to_additive(causal) + mask_to_additive(padding)
print(torch.equal(both, mask_to_additive(causal & padding)))
#> True

lowest = torch.finfo(torch.float32).min
print(torch.tensor(lowest) + torch.tensor(lowest))  # the sum of two is −∞ after all
#> tensor(-inf)
