import torch

# rows: the, cat, sleeps; columns: determiner, noun, verb, alive
x = torch.tensor([[1.0, 0, 0, 0], [0, 1, 0, 1], [0, 0, 1, 1]])

# row i says what feature i of a word turns into
w_q = torch.tensor([[0.0, 2, 0, 0], [0, 0, 2, 0], [0, 2, 0, 2], [0, 0, 0, 0]])
w_k = torch.eye(4)
w_v = torch.tensor([[0.0, 0, 0, 1], [1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0]])

query, key, value = x @ w_q, x @ w_k, x @ w_v
print(query)
print(query @ key.T / 4**0.5)
weights = torch.softmax(query @ key.T / 4**0.5, dim=-1)
print(weights)
print(weights @ value)  # columns: a thing, an act, alive, definite
