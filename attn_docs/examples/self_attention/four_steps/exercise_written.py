import torch
from torch import nn

from attn_docs.testing import check_module


class Attention(nn.Module):
    def __init__(self, embed_dim):
        super().__init__()
        self.qkv_proj = nn.Linear(embed_dim, 3 * embed_dim)
        self.out_proj = nn.Linear(embed_dim, embed_dim)

    def forward(self, x, attn_mask=None):  # b n D; boolean, True: may attend
        query, key, value = self.qkv_proj(x).chunk(3, dim=-1)
        scores = query @ key.mT / query.size(-1) ** 0.5
        if attn_mask is None:
            return self.out_proj(scores.softmax(dim=-1) @ value)
        scores = scores.masked_fill(~attn_mask, torch.finfo(scores.dtype).min)
        weights = scores.softmax(dim=-1).masked_fill(~attn_mask, 0.0)
        return self.out_proj(weights @ value)


report = check_module(Attention(16), embed_dim=16)
print(report.verdict, [finding.property for finding in report.failures])
#> passed []
layer, nothing = Attention(16), torch.zeros(5, 5, dtype=torch.bool)
print((layer(torch.randn(1, 5, 16), nothing) == layer.out_proj.bias).all())
#> tensor(True)
