from torch import nn

from attn_docs.testing import check_module


class AdditiveSelfAttention(nn.Module):
    """Each word of x scores each word of x with a hidden layer of size p."""

    def __init__(self, dim=16, p=24):
        super().__init__()
        self.q_proj, self.k_proj = (nn.Linear(dim, p, bias=False) for _ in range(2))
        self.score_proj, self.v_proj = nn.Linear(p, 1, bias=False), nn.Linear(dim, dim)

    def forward(self, x):  # b n d
        pairs = self.q_proj(x)[:, :, None] + self.k_proj(x)[:, None]  # b n n p
        scores = self.score_proj(pairs.tanh()).squeeze(-1)  # b n n
        return scores.softmax(-1) @ self.v_proj(x)  # b n d

report = check_module(AdditiveSelfAttention(), embed_dim=16)
print(report.verdict)
#> passed
print(report.headline)
#> AdditiveSelfAttention: passed; formula: not judged; 5 not judged, 13 pass, 16 not applicable
