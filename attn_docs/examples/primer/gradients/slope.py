import torch

scores = torch.tensor([1.0, 0.0, 0.0], requires_grad=True)
weights = torch.softmax(scores, dim=0)
weights[0].backward()  # how does the first weight change with each score?
print(weights.data, scores.grad)
#> tensor([0.5761, 0.2119, 0.2119]) tensor([ 0.2442, -0.1221, -0.1221])

nudged = torch.softmax(torch.tensor([1.01, 0.0, 0.0]), dim=0)
print((nudged[0] - weights[0]).data / 0.01)  # by trying it out
#> tensor(0.2440)
