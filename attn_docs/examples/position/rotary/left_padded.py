import torch

from attn_docs import MultiHeadAttention, RotaryEmbedding

torch.manual_seed(0)
attend = MultiHeadAttention(8, 2, rotary=RotaryEmbedding(4)).double()
attend.requires_grad_(False)
x = torch.randn(2, 5, 8, dtype=torch.float64)
real = torch.tensor([[1, 1, 1, 1, 1], [0, 0, 1, 1, 1]]).bool()  # two tokens of padding
mask = real[:, None, None, :]  # b 1 1 m

alone = attend(x[1:, 2:], is_causal=True)  # the second text without its padding
counted = (real.cumsum(1) - 1).clamp(min=0)  # from each row's first real token
print(counted.tolist())
#> [[0, 1, 2, 3, 4], [0, 0, 0, 1, 2]]
ways = {"from the left:": None, "own positions:": counted}
for name, positions in ways.items():
    batch = attend(x, attn_mask=mask, is_causal=True, positions=positions)
    print(name, torch.allclose(batch[1:, 2:], alone))
#> from the left: True
#> own positions: True
