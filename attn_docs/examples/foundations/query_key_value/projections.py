import torch

x = torch.eye(3)  # one row a word: the, cat, sleeps

q_proj = torch.tensor([[0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [0.0, 1.0, 1.0]])
k_proj = torch.eye(3)
v_proj = torch.tensor([[1.0, 0.0, 0.5], [0.0, 1.0, 0.3], [0.5, 0.5, 0.8]])

query, key, value = x @ q_proj, x @ k_proj, x @ v_proj
print(query @ key.T)  # row: who asks, column: who answers
#> tensor([[0., 1., 0.],
#>         [0., 0., 1.],
#>         [0., 1., 1.]])
print(value)
#> tensor([[1.0000, 0.0000, 0.5000],
#>         [0.0000, 1.0000, 0.3000],
#>         [0.5000, 0.5000, 0.8000]])
