import torch

from attn_docs import MultiHeadAttention

torch.manual_seed(0)
attend = MultiHeadAttention(embed_dim=12, num_heads=3)
x, source = torch.randn(2, 1, 12), torch.randn(2, 7, 12)  # two texts, one new token each

beams = x.repeat_interleave(3, dim=0)  # three beams a text, which still are equal
memory = attend.cache_context(source.repeat_interleave(3, dim=0))
output = attend(beams, memory).view(2, 3, 12)
print(torch.allclose(output, output[:, :1]))  # equal beams, equal outputs?
#> True
