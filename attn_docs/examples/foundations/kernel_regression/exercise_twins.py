import torch
import torch.nn.functional as F

from attn_docs import nadaraya_watson

torch.manual_seed(0)
x = torch.linspace(0, 6, 40, dtype=torch.float64)
y = 2 * torch.sin(x) + 0.5 * torch.randn(40, dtype=torch.float64)
rows = torch.randperm(80) % 40

x, y = torch.stack((x[rows], y[rows])).unique(dim=1)  # each pair once
others = ~torch.eye(len(x), dtype=torch.bool)
print(len(x), "pairs")
#> 40 pairs
for width in (0.2, 0.1, 0.05):
    loss = F.mse_loss(nadaraya_watson(x, x, y, width=width, attn_mask=others), y)
    print(f"width {width}  loss {loss.item():.2f}")
#> width 0.2  loss 0.30
#> width 0.1  loss 0.32
#> width 0.05  loss 0.33
