import torch
import torch.nn.functional as F

from attn_docs import scaled_dot_product_attention

torch.manual_seed(0)
d = 32
exact = [torch.randn(2, 4, 256, d, dtype=torch.float64) for _ in range(3)]  # b h n d
order = torch.randperm(256)

print("                        float32 differs  below 1e-5  float64 below 1e-12")
#>                         float32 differs  below 1e-5  float64 below 1e-12
for name, attend in {
    "PyTorch's, fused": F.scaled_dot_product_attention,
    "keys in another order": lambda q, k, v: scaled_dot_product_attention(
        q, k[..., order, :], v[..., order, :]
    ),
    "1/√d typed, six digits": lambda q, k, v: scaled_dot_product_attention(q, k, v, scale=0.176777),
}.items():
    far = []
    for dtype in (torch.float32, torch.float64):
        inputs = [x.to(dtype) for x in exact]
        far.append((attend(*inputs) - scaled_dot_product_attention(*inputs)).abs().max().item())
    print(f"{name:22}  {far[0] > 0!s:15}  {far[0] < 1e-5!s:10}  {far[1] < 1e-12}")
#> PyTorch's, fused        True             True        True
#> keys in another order   True             True        True
#> 1/√d typed, six digits  True             True        False
