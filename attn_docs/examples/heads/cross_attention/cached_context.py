import torch

from attn_docs import MultiHeadAttention, padding_mask

torch.manual_seed(0)
attend = MultiHeadAttention(embed_dim=12, num_heads=3, kv_dim=8)
x, context = torch.randn(2, 4, 12), torch.randn(2, 5, 8)  # b n D, b m D_kv
seen = padding_mask([5, 2])  # b m: the context's padding

cached = attend.cache_context(context)  # keys and values, computed once
print(cached)
#> ContextCache(batch=2, num_kv_heads=3, head_dim=4, length=5, torch.float32, cpu)
steps = [attend(x[:, [t]], cached, key_padding_mask=seen) for t in range(4)]
whole = attend(x, context, key_padding_mask=seen)
print(torch.allclose(torch.cat(steps, dim=1), whole, atol=1e-6))
#> True
