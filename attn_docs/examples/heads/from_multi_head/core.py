import torch

torch.manual_seed(0)
h, g, d, D = 6, 2, 4, 24  # query heads, KV heads afterwards, head size, embed_dim
weight = torch.randn(h * d, D)  # a trained k_proj.weight: rows of head 0, of head 1, …

heads = weight.view(g, h // g, d, D)  # neighbouring heads form a group
pooled = heads.mean(1).flatten(0, 1)  # g·d D: the rows of the shared heads

x = torch.randn(5, D)  # n D
keys = (x @ weight.T).view(5, g, h // g, d)
print(torch.allclose((x @ pooled.T).view(5, g, d), keys.mean(2), atol=1e-5))
#> True

from attn_docs import MultiHeadAttention, multi_head_to_grouped_query

multi = MultiHeadAttention(D, h, bias=False).requires_grad_(False)
multi.k_proj.weight.copy_(weight)
print(torch.allclose(multi_head_to_grouped_query(multi, g).k_proj.weight, pooled))
#> True
