import torch
from torch import nn

from attn_docs import AcrossHeads

torch.manual_seed(0)
h, d = 2, 16
query = torch.randn(1, h, 5, d) * torch.tensor([100.0, 1.0]).view(h, 1, 1)  # b h n d
for name, norm in {"each head": nn.RMSNorm(d), "across": AcrossHeads(nn.RMSNorm(h * d))}.items():
    lengths = norm(query).norm(dim=-1).amax(dim=(0, 2))  # h
    print(f"{name}: longest {[round(length, 2) for length in lengths.tolist()]}")
#> each head: longest [4.0, 4.0]
#> across: longest [5.66, 0.07]
print(f"√d = {d**0.5:.2f}, √(h·d) = {(h * d) ** 0.5:.2f}")
#> √d = 4.00, √(h·d) = 5.66
