import torch
import torch.nn.functional as F

marks = torch.tensor([1.0, 0, 0, 0, 0, 0])  # the first token says 1, all others 0
alike = torch.zeros(1, 6, 1)  # b n d: every key is as good as every other
counter = F.scaled_dot_product_attention(alike, alike, marks[None, :, None], is_causal=True)
print(counter.flatten())
#> tensor([1.0000, 0.5000, 0.3333, 0.2500, 0.2000, 0.1667])

positions = torch.arange(1, 10**6)  # n
for dtype in (torch.bfloat16, torch.float16, torch.float32):
    counter = (1 / positions.double()).to(dtype)  # n: the best that the format can do
    shared = (counter[1:] == counter[:-1]).nonzero().flatten()[:1]  # the first
    print(dtype, [(positions[i].item(), positions[i + 1].item()) for i in shared])
#> torch.bfloat16 [(190, 191)]
#> torch.float16 [(1464, 1465)]
#> torch.float32 []
