import torch

scores = torch.tensor([4.0, 3.0, 3.0, 1.0])
for temperature in (0.1, 1.0, 10.0, 100.0):
    print(temperature, torch.softmax(scores / temperature, dim=-1))
