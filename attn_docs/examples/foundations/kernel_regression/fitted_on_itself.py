import torch
import torch.nn.functional as F

from attn_docs import KernelRegression, nadaraya_watson
from attn_docs.exhibits.foundations import fitted_on_itself

torch.manual_seed(0)
x = torch.linspace(0, 6, 40, dtype=torch.float64)
y = 2 * torch.sin(x) + 0.5 * torch.randn(40, dtype=torch.float64)
new = torch.linspace(0, 6, 200, dtype=torch.float64)  # places that no pair was made for


def error(width):
    return F.mse_loss(nadaraya_watson(new, x, y, width=width), 2 * torch.sin(new)).item()


for steps in (50, 100, 200):
    regression = KernelRegression(width=1.0)
    loss = fitted_on_itself.fit(regression, x, y, steps)
    width = regression.width.item()
    print(f"width {width:.2f}  loss {loss:.2f}  error at new places {error(width):.2f}")
#> width 0.19  loss 0.12  error at new places 0.06
#> width 0.06  loss 0.00  error at new places 0.17
#> width 0.05  loss 0.00  error at new places 0.18
