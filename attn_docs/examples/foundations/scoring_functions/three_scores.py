import math

import torch

query = torch.tensor([2.0, 2.0])
key = {"the": [6.0, 1.0], "cat": [1.0, 1.0], "sleeps": [3.0, 2.0]}

print("        dot  cosine  -distance²/2")
#>         dot  cosine  -distance²/2
for word, numbers in key.items():
    k = torch.tensor(numbers)
    dot = query @ k
    cosine = dot / math.sqrt((query @ query) * (k @ k))
    gaussian = -(query - k).square().sum() / 2
    print(f"{word:7} {dot:3.0f}  {cosine:6.4f}  {gaussian:12.1f}")
#> the      14  0.8137          -8.5
#> cat       4  1.0000          -1.0
#> sleeps   10  0.9806          -0.5
