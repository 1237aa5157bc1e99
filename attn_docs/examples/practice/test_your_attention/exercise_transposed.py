from torch import nn


class Attention(nn.Module):
    def __init__(self, dim=32):
        super().__init__()
        self.q, self.k, self.v = (nn.Linear(dim, dim) for _ in range(3))

    def forward(self, x, mask=None):
        scores = self.q(x) @ self.k(x).mT / x.size(-1) ** 0.5
        if mask is not None:  # True: may attend
            scores = scores.masked_fill(~mask.mT, -1e4)
        return scores.softmax(-1) @ self.v(x)
