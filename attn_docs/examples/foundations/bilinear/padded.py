import torch

query = torch.tensor([[1.0, 0.0], [0.0, 1.0]])  # n q: "the" wants a noun, "cat" a verb
key = torch.eye(3)  # m k: "the", "cat", "sleeps" are determiner, noun, verb

try:
    query @ key.T
except RuntimeError as error:
    print(str(error).partition(" (")[0])
#> mat1 and mat2 shapes cannot be multiplied

padded = torch.nn.functional.pad(query, (0, 1))  # n 3: a zero more
print(padded @ key.T)
#> tensor([[1., 0., 0.],
#>         [0., 1., 0.]])
