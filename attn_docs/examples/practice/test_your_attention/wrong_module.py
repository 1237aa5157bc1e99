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
print(report.passed)
#> False
for finding in report.findings:
    cause = finding.cause.split(":")[0]
    print(f"{finding.verdict:14} {finding.property:19} {cause}".rstrip())
#> pass           runs
#> fail           oracle              the heads of one position attend to each other
#> pass           scale
#> pass           weights
#> pass           gradients
#> fail           attends             the heads of one position attend to each other
#> pass           equal words
#> pass           value projection
#> pass           projections
#> fail           head layout         the heads of one position attend to each other
#> not applicable group order
#> not applicable rotation
#> not applicable mask used
#> not applicable mask polarity
#> not applicable mask axis
#> not applicable mask place
#> not applicable causality
#> not applicable prefix
#> not applicable padding
#> not applicable empty rows
#> not applicable packing
#> pass           long sequences
#> not applicable flags agree
#> not applicable claims
#> not applicable options used
#> pass           batch
#> pass           permutation
#> not applicable cross-attention
#> not applicable dropout
#> pass           dropout off in eval
#> not applicable cache
#> pass           half precision
#> pass           input unchanged
#> pass           deterministic
