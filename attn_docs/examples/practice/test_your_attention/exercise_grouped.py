import torch
from torch import nn
from torch.nn.functional import rms_norm

from attn_docs.testing import check_module


class Grouped(nn.Module):
    def __init__(self, dim=32, heads=4, kv_heads=2):
        super().__init__()
        self.size, self.group = dim // heads, heads // kv_heads
        self.q, self.out = nn.Linear(dim, dim), nn.Linear(dim, dim)
        self.k, self.v = (nn.Linear(dim, kv_heads * self.size) for _ in range(2))

    def forward(self, x):
        q, k, v = (f(x).unflatten(-1, (-1, self.size)) for f in (self.q, self.k, self.v))
        q, k, v = (t.transpose(1, 2) for t in (q, k, v))  # (batch, heads, length, size)
        q, k = rms_norm(q, (self.size,)), rms_norm(k, (self.size,))
        k, v = (t.repeat_interleave(self.group, dim=1) for t in (k, v))
        past = torch.ones(x.size(1), x.size(1), dtype=torch.bool).tril()
        scores = (q @ k.mT / self.size**0.5).masked_fill(~past, -torch.inf)
        return self.out((scores.softmax(-1) @ v).transpose(1, 2).flatten(2))

require = ["oracle", "group order", "causality"]
report = check_module(Grouped(), embed_dim=32, causal=True, require=require)
report.raise_if_failed()
print(report.verdict)
#> passed
