import torch

from attn_docs import apply_rotary

torch.manual_seed(0)
query, key = torch.randn(2, 1, 1, 1, 8, dtype=torch.float64).unbind()
for part in (slice(0, 8), slice(4, 8)):  # the whole vectors; only what is not turned
    q, k = torch.zeros_like(query), torch.zeros_like(key)
    q[..., part], k[..., part] = query[..., part], key[..., part]
    scores = []
    for distance in (0, 1, 100):
        turned = apply_rotary(q, torch.tensor([distance]), rotary_dim=4)
        scores.append((turned * apply_rotary(k, torch.tensor([0]), rotary_dim=4)).sum())
    print([round(score.item(), 3) for score in scores])
#> [4.322, 1.295, 2.451]
#> [0.224, 0.224, 0.224]
