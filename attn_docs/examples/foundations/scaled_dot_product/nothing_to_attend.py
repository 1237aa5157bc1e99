import torch

from attn_docs import masked_softmax

scores = torch.tensor([[1.0, 2.0, 3.0]], requires_grad=True)
nothing = torch.zeros(1, 3, dtype=torch.bool)

plain = torch.softmax(scores.masked_fill(~nothing, float("-inf")), dim=-1)
print(plain.detach())
#> tensor([[nan, nan, nan]])

ours = masked_softmax(scores, nothing)
ours.sum().backward()
print(ours.detach(), scores.grad)
#> tensor([[0., 0., 0.]]) tensor([[0., 0., 0.]])
