import torch
import torch.nn.functional as F
from torch.nn.attention.flex_attention import create_mask

attention_mask = torch.tensor([[1, 1, 1], [1, 1, 0]])  # b m, as a tokenizer returns it
causal = torch.ones(3, 3, dtype=torch.bool).tril()  # n m
mask = causal & attention_mask.bool()[:, None, None, :]  # b 1 n m: True may attend

x = torch.randn(2, 1, 3, 8)  # b h n d
wanted = F.scaled_dot_product_attention(x, x, x, attn_mask=mask)
additive = torch.where(mask, 0.0, -torch.inf)
print(torch.allclose(F.scaled_dot_product_attention(x, x, x, attn_mask=additive), wanted))
#> True

module = torch.nn.MultiheadAttention(8, num_heads=1, batch_first=True)
y = x[:, 0]  # b n D
one = module(y, y, y, attn_mask=~mask[:, 0])[0]  # b·h n m: True blocks
two = module(y, y, y, attn_mask=~causal, key_padding_mask=attention_mask == 0)[0]
print(torch.allclose(one, two))
#> True

flex = create_mask(lambda b, _h, q, k: mask[b, 0, q, k], 2, None, 3, 3, device="cpu")
print(torch.equal(flex, mask))
#> True
