import torch

scores = torch.tensor([0.0, 7.0, 30.0], dtype=torch.float16)
powers = torch.exp(scores - scores.max())
print(powers)
#> tensor([0., 0., 1.], dtype=torch.float16)

weights, exact = powers / powers.sum(), torch.softmax(scores.double(), dim=-1)
print(torch.equal(weights, exact.half()))  # the exact weights, rounded to float16
#> True
