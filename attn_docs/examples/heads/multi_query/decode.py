import torch
import torch.nn.functional as F

from attn_docs import MultiQueryAttention, merge_heads, split_heads

torch.manual_seed(0)
attend = MultiQueryAttention(embed_dim=12, num_heads=3)
x = torch.randn(1, 5, 12)

key, value = torch.empty(1, 1, 0, 4), torch.empty(1, 1, 0, 4)  # b 1 m d: nothing yet
words = []
for t in range(5):
    new = x[:, t : t + 1]
    key = torch.cat([key, attend.k_proj(new)[:, None]], dim=2)
    value = torch.cat([value, attend.v_proj(new)[:, None]], dim=2)
    query = split_heads(attend.q_proj(new), 3)  # b h 1 d
    heads = F.scaled_dot_product_attention(query, key, value, enable_gqa=True)
    words.append(attend.out_proj(merge_heads(heads)))

print(torch.allclose(torch.cat(words, dim=1), attend(x, is_causal=True), atol=1e-6))
#> True
print(key.numel() + value.numel(), "numbers kept; with three heads", 3 * 2 * 5 * 4)
#> 40 numbers kept; with three heads 120
