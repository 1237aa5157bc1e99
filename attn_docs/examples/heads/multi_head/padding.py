import torch

from attn_docs import MultiHeadAttention, padding_mask

torch.manual_seed(0)
attend, x = MultiHeadAttention(embed_dim=12, num_heads=3), torch.randn(4, 4, 12)
seen = padding_mask([4, 3, 2, 1])  # (batch, m), and here batch = n = 4
right = attend(x, key_padding_mask=seen)
wrong = attend(x, attn_mask=seen)  # taken for (n, m): one mask for all four sequences
print(wrong.shape == right.shape, torch.allclose(wrong, right))
#> True False
print(torch.equal(attend(x, attn_mask=seen[:, None, None]), right))
#> True
