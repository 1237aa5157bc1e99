import torch
import torch.nn.functional as F


def shaw(query, table):  # b h n d, and 2c+1 d: a vector for each distance from −c to c
    n, c = query.size(-2), table.size(0) // 2
    at = torch.arange(n)
    bucket = (at - at[:, None]).clamp(-c, c) + c  # n n
    scores = query @ table.T / query.size(-1) ** 0.5  # b h n 2c+1: once for each distance
    return scores.gather(-1, bucket.expand(*query.shape[:-1], n))  # b h n n


torch.manual_seed(0)
query, key, value = torch.randn(3, 2, 4, 6, 8).unbind()  # b h n d each
table, at = torch.randn(2 * 2 + 1, 8), torch.arange(6)
output = F.scaled_dot_product_attention(query, key, value, attn_mask=shaw(query, table))

vectors = table[(at - at[:, None]).clamp(-2, 2) + 2]  # n n d, one for each pair
scores = torch.einsum("bhid,bhijd->bhij", query, key[:, :, None] + vectors) / 8**0.5
print(torch.allclose(output, scores.softmax(-1) @ value, atol=1e-5))
#> True
