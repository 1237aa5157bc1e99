import torch

from attn_docs import attention_weights, causal_mask, padding_mask

torch.manual_seed(0)
query, key = torch.randn(3, 5, 4), torch.randn(3, 7, 4)  # b n d, b m d
mask = causal_mask(5, 7, offset=2) & padding_mask([7, 4, 0])[:, None, :]  # b n m
weights = attention_weights(query, key, mask)

print(weights[~mask].abs().max().item())  # nothing on a forbidden key, exactly
#> 0.0
has_a_key = mask.any(dim=-1)
sums = weights.sum(dim=-1)
print(torch.allclose(sums[has_a_key], torch.ones(())), sums[~has_a_key].unique())
#> True tensor([0.])
