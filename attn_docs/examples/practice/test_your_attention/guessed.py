from torch import nn

from attn_docs.testing import check_module


class Biased(nn.Module):
    """Adds what it is given to the scores: 0, or a large negative number."""

    def __init__(self, dim=32, heads=4):
        super().__init__()
        self.heads, self.qkv, self.out = heads, nn.Linear(dim, 3 * dim), nn.Linear(dim, dim)

    def forward(self, x, attention_mask=None):
        q, k, v = self.qkv(x).unflatten(-1, (3, self.heads, -1)).permute(2, 0, 3, 1, 4)
        scores = q @ k.mT / q.size(-1) ** 0.5
        weights = (scores if attention_mask is None else scores + attention_mask).softmax(-1)
        return self.out((weights @ v).transpose(1, 2).flatten(2))

report = check_module(Biased(), embed_dim=32)
print(report.verdict)
#> passed
print(next(f.evidence for f in report.findings if f.property == "oracle"))
#> reproduced with 4 heads of 8; guessed: attention_mask is added to the scores (2 axes)
