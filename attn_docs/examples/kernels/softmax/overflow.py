import math

import torch

scores = torch.tensor([10.0, 11.0, 12.0])

for dtype in (torch.float16, torch.bfloat16, torch.float32):
    powers = scores.to(dtype).exp()
    print(dtype, powers / powers.sum())

print(math.log(torch.finfo(torch.float16).max))
print(math.log(torch.finfo(torch.float32).max))
