import torch

from attn_docs import BilinearAttention

query = torch.tensor([[1.0, 0.0], [0.0, 1.0]])  # n d_q: wants a noun, wants a verb
key = torch.eye(3)  # m d_k: is a determiner, a noun, a verb
weight = torch.tensor([[0.0, 2.0, -1.0], [0.0, -1.0, 2.0]])  # d_q d_k

products = query @ weight @ key.T  # n m
print(products)
#> tensor([[ 0.,  2., -1.],
#>         [ 0., -1.,  2.]])
scores = products / (2 * 3) ** 0.25
print(scores)
#> tensor([[ 0.0000,  1.2779, -0.6389],
#>         [ 0.0000, -0.6389,  1.2779]])
weights = torch.softmax(scores, dim=-1)
print(weights)
#> tensor([[0.1954, 0.7014, 0.1032],
#>         [0.1954, 0.1032, 0.7014]])
attend = BilinearAttention(query_dim=2, key_dim=3)
attend.load_state_dict({"weight": weight})
output = attend(query[None], key[None], key[None])[0]  # unit vectors as values: the weights
print(torch.allclose(output, weights))
#> True
