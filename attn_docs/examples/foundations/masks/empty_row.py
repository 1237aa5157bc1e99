import torch

from attn_docs import masked_softmax

scores = torch.tensor([[0.0, 1.0, 2.0]])
value = torch.tensor([[3.0], [6.0], [9.0]])  # their mean is 6
nothing = torch.zeros(1, 3, dtype=torch.bool)

lowest = torch.finfo(torch.float32).min
for name, fill in (("-inf", -torch.inf), ("-1e9", -1e9), ("-1e20", -1e20), ("lowest", lowest)):
    weights = torch.softmax(scores.masked_fill(~nothing, fill), dim=-1)
    print(name, weights, weights @ value)
#> -inf tensor([[nan, nan, nan]]) tensor([[nan]])
#> -1e9 tensor([[0.3333, 0.3333, 0.3333]]) tensor([[6.]])
#> -1e20 tensor([[0.3333, 0.3333, 0.3333]]) tensor([[6.]])
#> lowest tensor([[0.3333, 0.3333, 0.3333]]) tensor([[6.]])

weights = masked_softmax(scores, nothing)
print("ours", weights, weights @ value)
#> ours tensor([[0., 0., 0.]]) tensor([[0.]])
