import torch

x = torch.tensor([0.0, 1.0, 3.0])  # m: the keys, where y is known
y = torch.tensor([2.0, 4.0, 10.0])  # m: the values
query = torch.tensor([2.0])  # n: where y is wanted
width = 1.0  # σ

scores = -0.5 * ((query[:, None] - x) / width) ** 2  # n m
print(scores)
#> tensor([[-2.0000, -0.5000, -0.5000]])
weights = torch.softmax(scores, dim=1)  # n m
print(weights)
#> tensor([[0.1004, 0.4498, 0.4498]])
prediction = weights @ y  # n
print(prediction)
#> tensor([6.4982])


from attn_docs import nadaraya_watson

print(torch.allclose(prediction, nadaraya_watson(query, x, y, width=width)))
#> True
