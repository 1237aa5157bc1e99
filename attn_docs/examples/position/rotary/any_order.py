import torch

from attn_docs import MultiHeadAttention, RotaryEmbedding

torch.manual_seed(0)
words = torch.randn(1, 3, 8)  # the cat sleeps
swapped = words.flip(1)  # sleeps cat the
for rotary in (None, RotaryEmbedding(4)):
    attend = MultiHeadAttention(embed_dim=8, num_heads=2, rotary=rotary)
    attend.requires_grad_(False)
    sleeps, other_sleeps = attend(words)[0, 2], attend(swapped)[0, 0]
    same = torch.allclose(sleeps, other_sleeps, atol=1e-6)
    print("no positions:" if rotary is None else "rotary:      ", same)
#> no positions: True
#> rotary:       False
