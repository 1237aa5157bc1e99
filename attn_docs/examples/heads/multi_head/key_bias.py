import torch

from attn_docs import MultiHeadAttention, RotaryEmbedding

torch.manual_seed(0)
x = torch.randn(2, 5, 64)  # b n D
for rotary in (None, RotaryEmbedding(head_dim=16)):
    attend = MultiHeadAttention(embed_dim=64, num_heads=4, rotary=rotary).requires_grad_(False)
    before = attend(x)
    attend.k_proj.bias.normal_()
    print("with rotary" if rotary else "without    ", torch.allclose(attend(x), before, atol=1e-5))
#> without     True
#> with rotary False
