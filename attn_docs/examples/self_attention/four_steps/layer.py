import torch.nn.functional as F
from torch import nn


class SelfAttention(nn.Module):
    def __init__(self, embed_dim, head_dim, dropout=0.1):
        super().__init__()
        self.qkv_proj = nn.Linear(embed_dim, 3 * head_dim)
        self.out_proj = nn.Linear(head_dim, embed_dim)
        self.dropout = dropout

    def forward(self, x, attn_mask=None):  # b n D; n n or b 1 n, True: may attend
        query, key, value = self.qkv_proj(x)[:, None].chunk(3, dim=-1)  # b 1 n d: one head
        if attn_mask is not None and attn_mask.ndim == 3:
            attn_mask = attn_mask[:, None]  # b 1 1 n
        p = self.dropout if self.training else 0.0
        mixed = F.scaled_dot_product_attention(query, key, value, attn_mask, p)  # b 1 n d
        return self.out_proj(mixed[:, 0])  # b n D


from attn_docs.testing import check_module

print(check_module(SelfAttention(16, 4), embed_dim=16, require=["oracle"]).headline)
#> SelfAttention: passed; formula: judged; 25 pass, 9 not applicable
