import torch
from torch import nn

from attn_docs.testing import Adapter, check_module


class Cached(nn.Module):
    def __init__(self, dim=32, heads=4):
        super().__init__()
        self.heads, self.qkv, self.out = heads, nn.Linear(dim, 3 * dim), nn.Linear(dim, dim)

    def step(self, x, cache=None):
        q, k, v = self.qkv(x).unflatten(-1, (3, self.heads, -1)).permute(2, 0, 3, 1, 4)
        if cache is not None:
            k, v = torch.cat([cache[0], k], 2), torch.cat([cache[1], v], 2)
        mask = torch.ones(q.size(2), k.size(2), dtype=torch.bool).tril()  # from the first key
        scores = (q @ k.mT / q.size(-1) ** 0.5).masked_fill(~mask, -torch.inf)
        return self.out((scores.softmax(-1) @ v).transpose(1, 2).flatten(2)), (k, v)

    def forward(self, x):
        return self.step(x)[0]

adapter = Adapter(step=Cached.step)
report = check_module(Cached(), embed_dim=32, causal=True, adapter=adapter)
for finding in report.failures:
    print(f"{finding.property}: {finding.cause.split(':')[0]}")
#> cache: with a cache, the causal mask is aligned with the first key, expected the last
