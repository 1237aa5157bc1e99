import torch

from attn_docs import CrossAttention, scaled_dot_product_attention

torch.manual_seed(0)
attend = CrossAttention(input_dim=6, context_dim=8, output_dim=4)
x, context = torch.randn(1, 4, 6), torch.randn(1, 5, 8)

key, value = attend.k_proj(context), attend.v_proj(context)  # once, before the first word
words = []
for t in range(4):
    query = attend.q_proj(x[:, t : t + 1])  # the new word alone: n = 1
    words.append(scaled_dot_product_attention(query, key, value))

print(torch.allclose(torch.cat(words, dim=1), attend(x, context), atol=1e-6))
#> True
