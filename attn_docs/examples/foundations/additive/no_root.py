import torch

torch.manual_seed(0)
print("   d  weights of variance 1  torch.nn.Linear's own")
#>    d  weights of variance 1  torch.nn.Linear's own
for d in (4, 64, 1024):
    query, key = torch.randn(500, d), torch.randn(500, d)
    slopes = []
    for unit in (True, False):
        q_proj, k_proj = (torch.nn.Linear(d, 64, bias=False) for _ in range(2))
        if unit:
            for projection in (q_proj, k_proj):
                torch.nn.init.normal_(projection.weight)
        hidden = torch.tanh(q_proj(query) + k_proj(key))
        slopes.append((1 - hidden**2).mean().item())  # the derivative of tanh
    print(f"{d:4}  {slopes[0]:21.3f}  {slopes[1]:21.3f}")
#>    4                  0.298                  0.689
#>   64                  0.071                  0.680
#> 1024                  0.017                  0.680
