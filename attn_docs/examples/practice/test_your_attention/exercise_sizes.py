from torch import nn

from attn_docs.testing import check_module


class Attention(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.heads = heads
        self.q, self.k, self.v, self.out = (nn.Linear(dim, dim) for _ in range(4))

    def forward(self, x):
        q, k, v = (f(x).unflatten(-1, (self.heads, -1)) for f in (self.q, self.k, self.v))
        q, k, v = (t.transpose(1, 2) for t in (q, k, v))
        weights = (q @ k.mT / self.heads**0.5).softmax(-1)  # heads, not the size of one
        return self.out((weights @ v).transpose(1, 2).flatten(2))

for dim, heads in ((64, 8), (32, 4)):
    print(dim, heads, check_module(Attention(dim, heads), embed_dim=dim).passed)
#> 64 8 True
#> 32 4 False
