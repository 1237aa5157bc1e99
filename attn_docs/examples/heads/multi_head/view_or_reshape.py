import torch

heads = torch.randn(2, 3, 5, 4)  # b h n d, in this order in memory
swapped = heads.transpose(1, 2)  # b n h d: the same memory, read in another order
print(swapped.is_contiguous())
#> False

print(tuple(swapped.view(2, 5, 3, 2, 2).shape))  # one axis becomes two: no copy needed
#> (2, 5, 3, 2, 2)
try:
    swapped.view(2, 5, 12)  # two axes become one
except RuntimeError as error:
    print(str(error).partition(" (")[0])
#> view size is not compatible with input tensor's size and stride

merged = swapped.contiguous().view(2, 5, 12)
print(torch.equal(swapped.reshape(2, 5, 12), merged), torch.equal(swapped.flatten(2), merged))
#> True True
print(tuple(heads.view(2, 5, 12).shape))  # no error, and wrong: the heads were not moved
#> (2, 5, 12)
