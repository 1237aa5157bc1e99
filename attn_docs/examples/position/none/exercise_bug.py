import torch

from attn_docs import MultiHeadAttention

torch.manual_seed(0)
torch.set_grad_enabled(False)
attend = MultiHeadAttention(16, 2)  # no positions
x = torch.randn(1, 6, 16)  # b n 16
shuffled = x[:, [5, 3, 0, 4, 1, 2]]
last, other = attend(x, is_causal=True)[:, -1], attend(shuffled, is_causal=True)[:, -1]
print("sees the order:", not torch.allclose(last, other, atol=1e-5))
#> sees the order: True
