import torch

values = torch.tensor([0.0, 1.0])  # of the first token, and of this one
fired = {}
for pronoun in (0.0, 1.0):
    for animal in (0.0, 1.0):
        query = 10 * pronoun + 10 * animal - 15  # a linear layer's, with a bias
        scores = query * torch.tensor([0.0, 1.0])  # keys: 0 at the first token, 1 at this one
        output = fired[pronoun, animal] = scores.softmax(-1) @ values
        print(f"pronoun {pronoun:.0f}, animal {animal:.0f}: {output:.2f}")
#> pronoun 0, animal 0: 0.00
#> pronoun 0, animal 1: 0.01
#> pronoun 1, animal 0: 0.01
#> pronoun 1, animal 1: 0.99
