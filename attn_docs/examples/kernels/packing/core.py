import torch
import torch.nn.functional as F

lengths = torch.tensor([3, 5, 2])  # three documents, one row of n = 10 tokens
starts = lengths.cumsum(0) - lengths
ids = torch.arange(3).repeat_interleave(lengths)  # n: 0 0 0 1 1 1 1 1 2 2
positions = torch.arange(10) - starts[ids]  # n: 0 1 2 0 1 2 3 4 0 1, for the embedding
same = ids[:, None] == ids[None, :]  # n n
mask = same & (torch.arange(10)[:, None] >= torch.arange(10))  # n n: same document, not later

query, key, value = torch.randn(3, 1, 2, 10, 4)  # b h n d
packed = F.scaled_dot_product_attention(query, key, value, attn_mask=mask)  # b h n e
alone = [  # each document as a row of its own
    F.scaled_dot_product_attention(q, k, v, is_causal=True)
    for q, k, v in zip(*(x.split([3, 5, 2], dim=2) for x in (query, key, value)), strict=True)
]
print(torch.allclose(packed, torch.cat(alone, dim=2), atol=1e-6))
#> True

from attn_docs import packed_attention

output = packed_attention(query, key, value, lengths, is_causal=True)
print(torch.allclose(packed, output, atol=1e-6))
#> True
