from torch import nn

from attn_docs.testing import check_module


class Tiled(nn.Module):
    """Four query heads, two key heads in the order 1 2 1 2, as an old checkpoint has them."""

    def __init__(self, dim=32):
        super().__init__()
        self.q, self.kv, self.out = nn.Linear(dim, 32), nn.Linear(dim, 32), nn.Linear(32, dim)

    def forward(self, x):
        q = self.q(x).unflatten(-1, (4, 8)).transpose(1, 2)
        k, v = self.kv(x).unflatten(-1, (2, 2, 8)).permute(2, 0, 3, 1, 4).repeat(1, 1, 2, 1, 1)
        weights = (q @ k.mT / 8**0.5).softmax(-1)
        return self.out((weights @ v).transpose(1, 2).flatten(2))

why = "heads are tiled in the checkpoint"
for waive in ({}, {"oracle": why, "group order": why}):
    report = check_module(Tiled(), embed_dim=32, require=["oracle", "group order"], waive=waive)
    print(report.headline)
    for finding in report.findings:
        if finding.verdict in ("fail", "waived"):
            print(f"{finding.property}: {finding.evidence.split(' (')[0]}")
#> Tiled: failed; formula: judged; 2 fail, 16 pass, 16 not applicable
#> oracle: key and value heads are repeated as a whole
#> group order: key and value heads are repeated as a whole
#> Tiled: passed; formula: judged; 2 waived, 16 pass, 16 not applicable
#> oracle: heads are tiled in the checkpoint; key and value heads are repeated as a whole
#> group order: heads are tiled in the checkpoint; key and value heads are repeated as a whole
