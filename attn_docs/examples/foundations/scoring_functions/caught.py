import torch
import torch.nn.functional as F

from attn_docs import DotProductAttention
from attn_docs.exhibits.foundations import cosine_for_dot, forgotten_sign, transposed_score

query = torch.tensor([[[1.0, 0.0]]])  # b n d
key = torch.tensor([[[1.0, 0.0], [3.0, 0.0]]])  # the query itself, and thrice the query
sets = [torch.randn(2, 4, 3, generator=torch.Generator().manual_seed(seed)) for seed in range(3)]

print("dot: the longer key wins")
#> dot: the longer key wins
for score in (DotProductAttention(), cosine_for_dot.DotProduct()):
    print(score(query, key, key, need_weights=True)[1])
#> tensor([[[0.1956, 0.8044]]])
#> tensor([[[0.5000, 0.5000]]])
print("Gaussian: the nearer key wins")
#> Gaussian: the nearer key wins
print(forgotten_sign.Gaussian()(query, key, key, need_weights=True)[1])
#> tensor([[[0.1192, 0.8808]]])
print("as many queries as keys: compare with PyTorch")
#> as many queries as keys: compare with PyTorch
print(torch.allclose(transposed_score.DotProduct()(*sets), F.scaled_dot_product_attention(*sets)))
#> False
try:
    transposed_score.DotProduct()(query, key, key)
except ValueError as error:
    print(error)
#> DotProduct.score must return shape (batch, n, m) = (1, 1, 2); got (1, 2, 1)
