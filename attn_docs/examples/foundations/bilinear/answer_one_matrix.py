from torch import nn

from attn_docs.testing import check_module


class OneMatrix(nn.Module):
    """Self-attention whose scores are x W xᵀ / √D, with W in one linear layer."""

    def __init__(self, dim=24):
        super().__init__()
        self.w, self.v_proj = nn.Linear(dim, dim, bias=False), nn.Linear(dim, dim)

    def forward(self, x):  # b n D
        scores = self.w(x) @ x.mT / x.size(-1) ** 0.5  # b n n
        return scores.softmax(-1) @ self.v_proj(x)  # b n D

why = "W stands for both projections"
report = check_module(OneMatrix(), embed_dim=24, waive={"oracle": why, "projections": why})
print(report.verdict)
#> passed
for finding in check_module(OneMatrix(), embed_dim=24).failures:
    print(f"without the waiver, {finding.property}: {finding.evidence}")
#> without the waiver, oracle: the key is the input itself: no key projection is used
#> without the waiver, projections: the key is the input itself: no key projection is used
