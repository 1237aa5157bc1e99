import torch

from attn_docs import MultiHeadAttention, RotaryEmbedding

torch.manual_seed(0)
torch.set_grad_enabled(False)
said = torch.randn(1, 4, 8)  # b n 8: the cat chased it
the_other = said[:, [3, 2, 0, 1]]  # it chased the cat
for name, rotary in (("no positions:", None), ("rotary:", RotaryEmbedding(4))):
    attend = MultiHeadAttention(embed_dim=8, num_heads=2, rotary=rotary)
    chased, other_chased = attend(said)[0, 2], attend(the_other)[0, 1]
    print(f"{name:13}", torch.allclose(chased, other_chased, atol=1e-6))
#> no positions: True
#> rotary:       False
