import torch

scores = torch.zeros(3, requires_grad=True)
torch.softmax(scores, dim=0).sum().backward()
print(scores.grad)
#> tensor([0., 0., 0.])
