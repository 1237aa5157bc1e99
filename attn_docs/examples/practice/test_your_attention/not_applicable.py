import torch
from torch import nn

from attn_docs.testing import check_module


class ByDistance(nn.Module):
    """No attention by the formula: a key scores high where it is near the query."""

    def __init__(self, dim=32):
        super().__init__()
        self.q, self.k, self.v = (nn.Linear(dim, dim) for _ in range(3))

    def forward(self, x):
        return torch.cdist(self.q(x), self.k(x)).neg().softmax(-1) @ self.v(x)

report = check_module(ByDistance(), embed_dim=32)
for finding in report.findings:
    if finding.property in ("scale", "mask used", "batch"):
        print(f"{finding.property}: {finding.verdict}")
        if finding.verdict == "not applicable":
            print("   ", finding.evidence)
#> scale: not judged
#> mask used: not applicable
#>     it takes no mask
#> batch: pass
