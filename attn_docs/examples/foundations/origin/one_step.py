import torch

states = torch.eye(3)  # what the encoder says at "the", "cat" and "sleeps"
query = torch.tensor([-2.0, -2.0, 0.0])  # what the decoder asks: a verb
v = torch.tensor([4.0, 4.0, 4.0])

hidden = torch.tanh(query + states)  # m h
print(hidden)
scores = hidden @ v  # m
print(scores)
weights = torch.softmax(scores, dim=-1)
print(weights)
context = weights @ states
print(context)
