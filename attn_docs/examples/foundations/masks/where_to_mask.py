import torch

query = torch.tensor([[0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [0.0, 1.0, 1.0]])
scores = query @ torch.eye(3) / 3**0.5
mask = torch.ones(3, 3).tril().bool()

print(torch.softmax(scores, dim=-1) * mask)  # wrong: masks the weights
#> tensor([[0.2645, 0.0000, 0.0000],
#>         [0.2645, 0.2645, 0.0000],
#>         [0.2192, 0.3904, 0.3904]])

print(torch.softmax(scores * mask, dim=-1))  # wrong: makes a forbidden score 0
#> tensor([[0.3333, 0.3333, 0.3333],
#>         [0.3333, 0.3333, 0.3333],
#>         [0.2192, 0.3904, 0.3904]])

print(torch.softmax(scores.masked_fill(~mask, float("-inf")), dim=-1))  # right
#> tensor([[1.0000, 0.0000, 0.0000],
#>         [0.5000, 0.5000, 0.0000],
#>         [0.2192, 0.3904, 0.3904]])
