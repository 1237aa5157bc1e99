import torch
from torch import nn

from attn_docs.testing import check_module


class Window(nn.Module):
    def __init__(self, dim=32, heads=4, window=3):
        super().__init__()
        self.heads, self.window = heads, window
        self.qkv, self.out = nn.Linear(dim, 3 * dim), nn.Linear(dim, dim)

    def forward(self, x):
        q, k, v = self.qkv(x).unflatten(-1, (3, self.heads, -1)).permute(2, 0, 3, 1, 4)
        distance = torch.arange(x.size(1))[:, None] - torch.arange(x.size(1))
        seen = (distance >= 0) & (distance <= self.window)  # one too many: < is meant
        scores = (q @ k.mT / q.size(-1) ** 0.5).masked_fill(~seen, -torch.inf)
        return self.out((scores.softmax(-1) @ v).transpose(1, 2).flatten(2))

for claimed in (3, 4):
    report = check_module(Window(), embed_dim=32, causal=True, window=claimed)
    print(f"window={claimed}: {report.verdict}")
    for finding in report.failures:
        print(f"    {finding.property}: {finding.evidence}")
#> window=3: failed
#>     causality: in evaluation, length 6: position 3 depends on position 0, gradient 2.78e+01
#>     claims: window=3 was said, and of 6 tokens output 3 depends on token 0
#> window=4: passed
