import torch

key_heads = torch.tensor([1, 2])
print("repeat:           ", key_heads.repeat(2))
#> repeat:            tensor([1, 2, 1, 2])
print("repeat_interleave:", key_heads.repeat_interleave(2))
#> repeat_interleave: tensor([1, 1, 2, 2])
