import torch

query = torch.tensor([[1.0, 0.0], [0.0, 1.0]])  # n q: "the" wants a noun, "cat" a verb
key = torch.eye(3)  # m k: "the", "cat", "sleeps" are determiner, noun, verb
w_q = torch.eye(2)  # p q
w_k = torch.tensor([[-2.0, -1.0, -2.0], [-2.0, -2.0, -1.0]])  # p k
u = torch.ones(2)  # p

asked = query @ w_q.T  # n p
offered = key @ w_k.T  # m p
sums = asked[:, None] + offered  # n m p: each query with each key
print(sums)
#> tensor([[[-1., -2.],
#>          [ 0., -2.],
#>          [-1., -1.]],
#>
#>         [[-2., -1.],
#>          [-1., -1.],
#>          [-2.,  0.]]])
scores = torch.tanh(sums) @ u  # n m
print(scores)
#> tensor([[-1.7256, -0.9640, -1.5232],
#>         [-1.7256, -1.5232, -0.9640]])
print(torch.softmax(scores, dim=-1))
#> tensor([[0.2290, 0.4905, 0.2804],
#>         [0.2290, 0.2804, 0.4905]])
