import torch

from attn_docs import MultiHeadAttention, padding_mask

torch.manual_seed(0)
attend = MultiHeadAttention(embed_dim=12, num_heads=3, kv_dim=8)
x, context = torch.randn(2, 4, 12), torch.randn(2, 5, 8)
seen = padding_mask([5, 2])  # batch m: the context's padding

kept = attend.cache_context(context)  # keys and values, once
words = [attend(x[:, [t]], kept, key_padding_mask=seen) for t in range(4)]
print(torch.allclose(torch.cat(words, dim=1), attend(x, context, key_padding_mask=seen)))
#> True
print(kept)
#> ContextCache(batch=2, num_kv_heads=3, head_dim=4, length=5, torch.float32, cpu)
