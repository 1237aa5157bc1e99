import torch

states = torch.eye(3)  # what the encoder says at "the", "cat" and "sleeps"
query = torch.tensor([-2.0, -2.0, 0.0])  # what the decoder asks: a verb
u = torch.tensor([4.0, 4.0, 4.0])

hidden = torch.tanh(query + states)  # m h
print(hidden)
#> tensor([[-0.7616, -0.9640,  0.0000],
#>         [-0.9640, -0.7616,  0.0000],
#>         [-0.9640, -0.9640,  0.7616]])
scores = hidden @ u  # m
print(scores)
#> tensor([-6.9025, -6.9025, -4.6658])
weights = torch.softmax(scores, dim=-1)
print(weights)
#> tensor([0.0880, 0.0880, 0.8240])
context = weights @ states
print(context)
#> tensor([0.0880, 0.0880, 0.8240])
