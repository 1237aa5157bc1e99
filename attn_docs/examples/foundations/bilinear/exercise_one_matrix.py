from torch import nn

from attn_docs.testing import check_module


class OneMatrix(nn.Module):
    """Self-attention whose scores are x W xᵀ / √D, with W in one linear layer."""

    def __init__(self, dim=24):
        super().__init__()
        self.w, self.v_proj = nn.Linear(dim, dim, bias=False), nn.Linear(dim, dim)

    def forward(self, x):  # b n D
        return self.v_proj(x)  # your code here

why = "W stands for both projections"
report = check_module(OneMatrix(), embed_dim=24, waive={"oracle": why, "projections": why})
print(report.verdict)
#> failed
