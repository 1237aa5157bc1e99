from torch import nn

from attn_docs.testing import check_module


class Attention(nn.Module):
    def __init__(self, dim=32, heads=4):
        super().__init__()
        self.heads = heads
        self.q, self.k, self.v, self.out = (nn.Linear(dim, dim) for _ in range(4))

    def forward(self, x):
        q, k, v = (f(x).unflatten(-1, (self.heads, -1)) for f in (self.q, self.k, self.v))
        q, k, v = (t.transpose(1, 2) for t in (q, k, v))
        weights = (q @ k.mT / x.size(-1) ** 0.5).softmax(-1)  # x is not one head
        return self.out((weights @ v).transpose(1, 2).flatten(2))

report = check_module(Attention(), embed_dim=32)
for line in str(report).splitlines()[:5]:
    print(line)
#> Attention: failed; formula: judged; 2 fail, 15 pass, 17 not applicable
#>   fail            oracle               scaled by √embed_dim = 5.657, expected √head_dim = 2.828
#>                                        likely cause: scaled by √embed_dim = 5.657, expected
#>                                        √head_dim = 2.828
#>                                        see practice/bugs-that-train/#oracle
