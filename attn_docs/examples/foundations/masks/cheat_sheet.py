import torch
import torch.nn.functional as F
from torch.nn.attention.flex_attention import create_mask

attention_mask = torch.tensor([[1, 1, 1], [1, 1, 0]])  # b m, as a tokenizer returns it
lengths = attention_mask.sum(1)  # b
causal = torch.ones(3, 3, dtype=torch.bool).tril()  # n m
mask = causal & attention_mask.bool()[:, None, None, :]  # b 1 n m: True may attend

# F.scaled_dot_product_attention: the mask itself, or numbers
x = torch.randn(2, 2, 3, 4)  # b h n d
wanted = F.scaled_dot_product_attention(x, x, x, attn_mask=mask)
numbers = torch.where(mask, 0.0, -torch.inf)
print(torch.allclose(F.scaled_dot_product_attention(x, x, x, attn_mask=numbers), wanted))
#> True

# nn.MultiheadAttention: two masks, or one for each head of each text, or that in numbers
module = torch.nn.MultiheadAttention(8, num_heads=2, batch_first=True)
y = torch.randn(2, 3, 8)  # b n D
two = module(y, y, y, attn_mask=~causal, key_padding_mask=attention_mask == 0)[0]
one = module(y, y, y, attn_mask=(~mask[:, 0]).repeat_interleave(2, 0))[0]
added = module(y, y, y, attn_mask=numbers[:, 0].repeat_interleave(2, 0))[0]
print(torch.allclose(one, two), torch.allclose(added, two))
#> True True

# FlexAttention: a function, in a model given to create_block_mask


def may(b, _h, q, k):
    return (k <= q) & (k < lengths[b])


print(torch.equal(create_mask(may, 2, None, 3, 3, device="cpu"), mask))
#> True

# x-transformers: mask=attention_mask.bool(); Hugging Face's models: attention_mask as it is
