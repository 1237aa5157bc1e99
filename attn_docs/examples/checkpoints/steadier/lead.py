import torch


def lead(query, key, mask, scale=None):
    """By how much the highest score of a row leads the row's mean, at most: one number a layer."""
    key = key.repeat_interleave(query.size(1) // key.size(1), dim=1)  # b h m d: also for KV heads
    scale = query.size(-1) ** -0.5 if scale is None else scale
    scores = query.float() @ key.float().mT * scale  # b h n m
    means = (scores * mask).sum(-1) / mask.sum(-1)
    return (scores.masked_fill(~mask, float("-inf")).amax(-1) - means).max().item()


torch.manual_seed(0)
query, key = torch.randn(2, 8, 64, 32), torch.randn(2, 2, 64, 32)  # b h n d, b g m d
mask = torch.ones(64, 64, dtype=torch.bool).tril()
print(f"fresh: {lead(query, key, mask):.1f}, ten times: {lead(10 * query, key, mask):.1f}")
#> fresh: 5.0, ten times: 50.4
# every score of a row moved by the same amount: a softmax does not mind, nor does the lead
print(f"each row moved: {lead(query, key + 10, mask):.1f}")
#> each row moved: 5.0
