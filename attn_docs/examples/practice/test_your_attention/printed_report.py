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

print(check_module(Attention(), embed_dim=32).table("fail"))
