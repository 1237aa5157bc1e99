import torch

x = torch.arange(8).view(2, 4)  # two words, four features
print(x)
#> tensor([[0, 1, 2, 3],
#>         [4, 5, 6, 7]])

heads = x.view(2, 2, 2).transpose(0, 1)  # words, heads, size -> heads, words, size
print(heads[0])  # both words, the first half of each
#> tensor([[0, 1],
#>         [4, 5]])

print(x.view(2, 2, 2)[0])  # the same shape, but one word alone
#> tensor([[0, 1],
#>         [2, 3]])

print(x.is_contiguous(), x.transpose(0, 1).is_contiguous())
#> True False
