import torch

scores = torch.zeros(5, 5)
hide = torch.tensor([0, 0, 0, 0, -torch.inf])  # for the last word
print((scores + hide)[:2])  # (5,) is used for each row: no word sees the last
#> tensor([[0., 0., 0., 0., -inf],
#>         [0., 0., 0., 0., -inf]])

print((scores + hide[:, None])[3:])  # (5, 1), for each column: the last word sees nothing
#> tensor([[0., 0., 0., 0., 0.],
#>         [-inf, -inf, -inf, -inf, -inf]])
