import torch

# rows: the, cat, sleeps; columns: determiner, noun, verb, alive
x = torch.tensor([[1.0, 0, 0, 0], [0, 1, 0, 1], [0, 0, 1, 1]])

# row i says what feature i of a word turns into
w_q = torch.tensor([[0.0, 2, 0, 0], [0, 0, 2, 0], [0, 2, 0, 2], [0, 0, 0, 0]])
w_k = torch.eye(4)
w_v = torch.tensor([[0.0, 0, 0, 1], [1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0]])

query, key, value = x @ w_q, x @ w_k, x @ w_v
print(query)
#> tensor([[0., 2., 0., 0.],
#>         [0., 0., 2., 0.],
#>         [0., 2., 0., 2.]])
print(query @ key.T / 4**0.5)
#> tensor([[0., 1., 0.],
#>         [0., 0., 1.],
#>         [0., 2., 1.]])
weights = torch.softmax(query @ key.T / 4**0.5, dim=-1)
print(weights)
#> tensor([[0.2119, 0.5761, 0.2119],
#>         [0.2119, 0.2119, 0.5761],
#>         [0.0900, 0.6652, 0.2447]])
print(weights @ value)  # columns: a thing, an act, alive, definite
#> tensor([[0.5761, 0.2119, 0.7881, 0.2119],
#>         [0.2119, 0.5761, 0.7881, 0.2119],
#>         [0.6652, 0.2447, 0.9100, 0.0900]])
