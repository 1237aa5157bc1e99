from torch import nn


class Attention(nn.Module):
    def __init__(self, dim=32, heads=4):
        super().__init__()
        self.heads = heads
        self.q, self.k, self.v, self.out = (nn.Linear(dim, dim) for _ in range(4))

    def forward(self, x):  # b n d
        q, k, v = (f(x).unflatten(-1, (self.heads, -1)) for f in (self.q, self.k, self.v))
        weights = (q @ k.mT / q.size(-1) ** 0.5).softmax(-1)
        return self.out((weights @ v).flatten(2))  # b n d


from attn_docs.testing import check_module

report = check_module(Attention(), embed_dim=32)
print(report.headline)
#> Attention: failed; formula: judged; 3 fail, 14 pass, 17 not applicable
for finding in report.failures:
    print(f"{finding.property}: {finding.evidence.partition(': ')[0]}")
#> oracle: the heads of one position attend to each other
#> attends: output 0 does not depend on token 1 (so with 30 of 30 pairs)
#> head layout: the heads of one position attend to each other
print("fix:", report.failures[0].cause.partition(": ")[2])
#> fix: transpose heads and length first
