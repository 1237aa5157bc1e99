import torch

from attn_docs import MultiHeadAttention

torch.manual_seed(0)
attend = MultiHeadAttention(embed_dim=12, num_heads=3)
x = torch.randn(4, 4, 12)  # b n D: four texts of four tokens
attention_mask = torch.ones(4, 4, dtype=torch.long).tril()  # b m: 1, 2, 3 and 4 tokens
is_token = attention_mask.bool()

right = attend(x, key_padding_mask=is_token)
wrong = attend(x, attn_mask=is_token)  # two axes are (n, m): one mask for all four texts
print(wrong.shape == right.shape, torch.allclose(wrong, right))
#> True False
print(torch.equal(attend(x, attn_mask=is_token[:, None, None]), right))
#> True

theirs = attend.to_torch()
print(torch.allclose(theirs(x, x, x, key_padding_mask=~is_token)[0], right, atol=1e-6))
#> True
