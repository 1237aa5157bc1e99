from torch import nn

from attn_docs.testing import check_module


class FoldedMultiQuery(nn.Module):
    def __init__(self, embed_dim=12, heads=3):
        super().__init__()
        self.heads, size = heads, embed_dim // heads
        self.q_proj = nn.Linear(embed_dim, embed_dim)
        self.k_proj = nn.Linear(embed_dim, size)
        self.v_proj = nn.Linear(embed_dim, size)
        self.out_proj = nn.Linear(embed_dim, embed_dim)

    def forward(self, x):  # b n D
        query = self.q_proj(x).unflatten(-1, (self.heads, -1)).flatten(1, 2)  # b n·h d
        key, value = self.k_proj(x), self.v_proj(x)  # b n d
        scores = query @ key.mT / key.size(-1) ** 0.5  # b n·h n: one product for all heads
        found = scores.softmax(dim=-1) @ value  # b n·h d
        return self.out_proj(found.unflatten(1, (-1, self.heads)).flatten(2))


print(check_module(FoldedMultiQuery(), embed_dim=12, causal=True).verdict)
#> failed
