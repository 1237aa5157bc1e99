import math

import torch

scores = torch.tensor([10.0, 11.0, 12.0])

for dtype in (torch.float16, torch.bfloat16, torch.float32):
    powers = scores.to(dtype).exp()
    print(powers / powers.sum())
#> tensor([0., 0., nan], dtype=torch.float16)
#> tensor([0.0898, 0.2451, 0.6641], dtype=torch.bfloat16)
#> tensor([0.0900, 0.2447, 0.6652])

print(f"{math.log(torch.finfo(torch.float16).max):.2f}")
#> 11.09
print(f"{math.log(torch.finfo(torch.float32).max):.2f}")
#> 88.72
