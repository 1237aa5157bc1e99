import torch

tokens = torch.tensor([[1, 0, 0, 0], [0, 1, 0, 1], [0, 0, 2, 1]])  # the, cat, sleeps
w_down = torch.tensor([[1, 0], [0, 1], [1, 0], [1, 1]])
w_uk = torch.tensor([[[1, 1], [0, 1]], [[0, 2], [1, -1]]])  # of heads 1 and 2
queries = torch.tensor([[1, 1], [2, 0]])  # of "sleeps", heads 1 and 2

c = tokens @ w_down  # a row for each token: all that is cached
for head, query in enumerate(queries):
    naive = (c @ w_uk[head]) @ query  # three keys are made, then compared
    absorbed = c @ (query @ w_uk[head].T)  # one query is made, then compared
    print(f"head {head + 1}: naive {naive.tolist()}, absorbed {absorbed.tolist()}")
#> head 1: naive [2, 4, 7], absorbed [2, 4, 7]
#> head 2: naive [0, 4, 2], absorbed [0, 4, 2]

weights, w_uv = torch.tensor([0.5, 0.5, 0]), torch.tensor([[2.0, 0], [0, 3]])
naive = weights @ (c.float() @ w_uv)  # three values are made, then mixed
absorbed = (weights @ c.float()) @ w_uv  # one mixture is made, then projected up
print(f"mixed: naive {naive.tolist()}, absorbed {absorbed.tolist()}")
#> mixed: naive [2.0, 3.0], absorbed [2.0, 3.0]
