from torch import nn

from attn_docs.testing import check_module


class Cross(nn.Module):
    def __init__(self, embed_dim, context_dim):
        super().__init__()
        self.q_proj = nn.Linear(embed_dim, embed_dim)
        self.kv_proj = nn.Linear(context_dim, 2 * embed_dim)
        self.out_proj = nn.Linear(embed_dim, embed_dim)

    def forward(self, x, context):  # b n D, b m D_kv; give it attn_mask=None, boolean
        _key, value = self.kv_proj(context).chunk(2, dim=-1)  # b m D each
        mean = value.mean(dim=1, keepdim=True)  # b 1 D: every token gets the same so far
        return self.out_proj(mean.expand_as(self.q_proj(x)))


print(check_module(Cross(16, 12), embed_dim=16, context_dim=12).verdict)
#> failed
