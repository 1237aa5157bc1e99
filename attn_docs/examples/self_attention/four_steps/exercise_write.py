from torch import nn

from attn_docs.testing import check_module


class Attention(nn.Module):
    def __init__(self, embed_dim):
        super().__init__()
        self.qkv_proj = nn.Linear(embed_dim, 3 * embed_dim)
        self.out_proj = nn.Linear(embed_dim, embed_dim)

    def forward(self, x):  # b n D; give it attn_mask=None, boolean, True: may attend
        _query, _key, value = self.qkv_proj(x).chunk(3, dim=-1)
        return self.out_proj(value)


print(check_module(Attention(16), embed_dim=16).verdict)
#> failed
