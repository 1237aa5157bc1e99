import torch

query = torch.tensor([[1.0, 0.0], [0.0, 1.0]])  # n q: wants a noun, wants a verb
key = torch.eye(3)  # m k: is a determiner, a noun, a verb
weight = torch.tensor([[0.0, 2.0, -1.0], [0.0, -1.0, 2.0]])  # q k

products = query @ weight @ key.T  # n m
print(products)
#> tensor([[ 0.,  2., -1.],
#>         [ 0., -1.,  2.]])
scores = products / (2 * 3) ** 0.25
print(scores)
#> tensor([[ 0.0000,  1.2779, -0.6389],
#>         [ 0.0000, -0.6389,  1.2779]])
print(torch.softmax(scores, dim=-1))
#> tensor([[0.1954, 0.7014, 0.1032],
#>         [0.1954, 0.1032, 0.7014]])
