from torch import nn

from attn_docs.testing import check_module


class Attention(nn.Module):
    def __init__(self, dim=32, heads=4):
        super().__init__()
        self.heads = heads
        self.q, self.k, self.v, self.out = (nn.Linear(dim, dim) for _ in range(4))

    def forward(self, x):
        q, k, v = (f(x).unflatten(-1, (self.heads, -1)) for f in (self.q, self.k, self.v))
        weights = (q @ k.mT / q.size(-1) ** 0.5).softmax(-1)
        return self.out((weights @ v).flatten(2))

report = check_module(Attention(), embed_dim=32)
print(report.headline)
#> Attention: failed; formula: judged; 3 fail, 14 pass, 17 not applicable
for finding in report.failures:
    print(f"{finding.property}: {finding.evidence.split(':')[0]}")
#> oracle: the heads of one position attend to each other
#> attends: output 0 does not depend on word 1, as for 30 of 30 pairs
#> head layout: the heads of one position attend to each other
print("likely cause:", *report.failures[0].cause.split(": "), sep="\n    ")
#> likely cause:
#>     the heads of one position attend to each other
#>     transpose heads and length first
