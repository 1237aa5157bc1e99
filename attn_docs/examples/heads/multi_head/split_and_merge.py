import torch

from attn_docs import merge_heads, split_heads

the, cat, sleeps = [10, 11, 12, 13], [20, 21, 22, 23], [30, 31, 32, 33]
x = torch.tensor([[the, cat, sleeps]], dtype=torch.float32)  # b n h·d
torch.set_printoptions(precision=0)

heads = split_heads(x, num_heads=2)  # b h n d
print(heads[0, 0])  # head 1: the first half of each token
#> tensor([[10., 11.],
#>         [20., 21.],
#>         [30., 31.]])
print(heads[0, 1])  # head 2: the second half of each token
#> tensor([[12., 13.],
#>         [22., 23.],
#>         [32., 33.]])
print(torch.equal(merge_heads(heads), x))
#> True
