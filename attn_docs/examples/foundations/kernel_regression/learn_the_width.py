import torch
import torch.nn.functional as F

from attn_docs import KernelRegression

torch.manual_seed(0)
x = torch.linspace(0, 6, 40, dtype=torch.float64)
y = 2 * torch.sin(x) + 0.5 * torch.randn(40, dtype=torch.float64)  # a curve, and noise
others = ~torch.eye(40, dtype=torch.bool)  # each place may use every pair but its own

regression = KernelRegression(width=1.0)
optimizer = torch.optim.Adam(regression.parameters(), lr=0.05)
for step in range(201):
    loss = F.mse_loss(regression(x, x, y, others), y)
    if step % 50 == 0:
        print(f"step {step:3}  width {regression.width.item():.2f}  loss {loss.item():.2f}")
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
#> step   0  width 1.00  loss 0.62
#> step  50  width 0.26  loss 0.30
#> step 100  width 0.23  loss 0.30
#> step 150  width 0.23  loss 0.30
#> step 200  width 0.23  loss 0.30

new = torch.linspace(0, 6, 200, dtype=torch.float64)  # places that no pair was made for
error = F.mse_loss(regression(new, x, y), 2 * torch.sin(new))
print(f"error at new places {error.item():.2f}")
#> error at new places 0.05
