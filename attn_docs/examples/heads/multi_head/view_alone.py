import torch

x = torch.tensor([[[10, 11, 12, 13], [20, 21, 22, 23], [30, 31, 32, 33]]])  # b n h·d
scrambled = x.view(1, 2, 3, 2)  # b h n d, as the shape says

print(scrambled[0, 0])  # head 1: the last token is missing, the first is there twice
#> tensor([[10, 11],
#>         [12, 13],
#>         [20, 21]])
print(scrambled[0, 1])
#> tensor([[22, 23],
#>         [30, 31],
#>         [32, 33]])
print(torch.equal(scrambled.view(1, 3, 4), x))  # there and back again proves nothing
#> True
