import torch.nn.functional as F
from torch import nn

from attn_docs.testing import check_module


class Cross(nn.Module):
    def __init__(self, embed_dim, context_dim):
        super().__init__()
        self.q_proj = nn.Linear(embed_dim, embed_dim)
        self.kv_proj = nn.Linear(context_dim, 2 * embed_dim)
        self.out_proj = nn.Linear(embed_dim, embed_dim)

    def forward(self, x, context, attn_mask=None):  # b n D, b m D_kv; (n, m) or (b, n, m), boolean
        query = self.q_proj(x)  # b n D
        key, value = self.kv_proj(context).chunk(2, dim=-1)  # b m D each
        return self.out_proj(F.scaled_dot_product_attention(query, key, value, attn_mask))


print(check_module(Cross(16, 12), embed_dim=16, context_dim=12).verdict)
#> passed
