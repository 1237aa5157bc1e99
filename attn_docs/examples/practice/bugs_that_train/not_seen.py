from attn_docs.examples.practice.bugs_that_train import right
from attn_docs.testing import check_module


class Renamed(right.Attention):  # a checkpoint's names would not fit any more
    def __init__(self, embed_dim, num_heads):
        super().__init__(embed_dim, num_heads)
        self.q_proj, self.k_proj = self.k_proj, self.q_proj


attention = right.Attention(32, 8)  # 4 heads were meant
print(check_module(attention, embed_dim=32, causal=True).passed)
#> True
print(check_module(Renamed(32, 4), embed_dim=32, causal=True).passed)
#> True
