import torch

query = torch.tensor([[2.0, 2.0]])  # n d
key = torch.tensor([[6.0, 1.0], [1.0, 1.0], [3.0, 2.0]])  # m d: long, aligned, near

dot = query @ key.T  # n m
cosine = dot / (query.norm(dim=-1, keepdim=True) * key.norm(dim=-1))  # n m
gaussian = -(query[:, None] - key).square().sum(-1) / 2  # n m
for name, scores in (("dot", dot), ("cosine", cosine), ("Gaussian", gaussian)):
    print(f"{name:8}", [round(score, 2) for score in scores[0].tolist()])
#> dot      [14.0, 4.0, 10.0]
#> cosine   [0.81, 1.0, 0.98]
#> Gaussian [-8.5, -1.0, -0.5]


from attn_docs import DotProductAttention, GaussianAttention

print(torch.allclose(DotProductAttention().score(query[None], key[None])[0], dot / 2**0.5))
#> True
print(torch.allclose(GaussianAttention(width=1.0).score(query[None], key[None])[0], gaussian))
#> True
