import torch

h, d, D = 2, 4, 8  # heads, size of a head, size of a word
in_blocks = torch.randn(3 * h * d, D)  # rows: all queries, all keys, all values
by_head = in_blocks.view(3, h, d, D).transpose(0, 1).reshape(3 * h * d, D)
back = by_head.view(h, 3, d, D).transpose(0, 1).reshape(3 * h * d, D)
print(torch.equal(by_head, in_blocks), torch.equal(back, in_blocks))
#> False True
