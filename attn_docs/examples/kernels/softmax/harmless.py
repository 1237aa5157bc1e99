import torch

scores = torch.tensor([0.0, 7.0, 30.0], dtype=torch.float16)
powers = torch.exp(scores - scores.max())
weights = powers / powers.sum()
print(weights)

exact = torch.softmax(scores.double(), dim=-1)
print((weights - exact).abs().max().item())
print(torch.finfo(torch.float16).eps / 2)  # half the distance from 1 to the next number
