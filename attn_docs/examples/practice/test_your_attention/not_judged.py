import torch
from torch import nn

from attn_docs.testing import check_module


class ByDistance(nn.Module):
    """A key scores high where it is near the query: a distance, and not a product."""

    def __init__(self, dim=32):
        super().__init__()
        self.q, self.k, self.v = (nn.Linear(dim, dim) for _ in range(3))

    def forward(self, x):
        return torch.cdist(self.q(x), self.k(x)).neg().softmax(-1) @ self.v(x)

for require in ([], ["oracle"]):
    report = check_module(ByDistance(), embed_dim=32, require=require)
    print(report.headline)
    print(bool(report))
#> ByDistance: passed; formula: not judged; 5 not judged, 13 pass, 16 not applicable
#> True
#> ByDistance: not judged (oracle); formula: not judged; 5 not judged, 13 pass, 16 not applicable
#> False
