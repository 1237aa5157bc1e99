import torch

key_heads = torch.tensor([1, 2])
print("repeat:           ", key_heads.repeat(2))
print("repeat_interleave:", key_heads.repeat_interleave(2))
