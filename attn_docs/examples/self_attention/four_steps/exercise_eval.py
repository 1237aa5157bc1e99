import torch
import torch.nn.functional as F
from torch import nn


class Attention(nn.Module):
    def __init__(self, embed_dim):
        super().__init__()
        self.qkv_proj = nn.Linear(embed_dim, 3 * embed_dim)

    def forward(self, x):
        query, key, value = self.qkv_proj(x).chunk(3, dim=-1)
        weights = (query @ key.mT / query.size(-1) ** 0.5).softmax(dim=-1)
        return F.dropout(weights, 0.1) @ value


torch.manual_seed(0)
attend, x = Attention(16).eval(), torch.randn(1, 50, 16)
print(torch.equal(attend(x), attend(x)))
#> False
