import torch

cap = 50.0  # Gemma 2's
scores = torch.tensor([1.0, 10.0, 50.0, 100.0, 200.0, 400.0], requires_grad=True)
capped = cap * torch.tanh(scores / cap)
(slope,) = torch.autograd.grad(capped.sum(), scores)
for score, within, passed in zip(scores.tolist(), capped.tolist(), slope.tolist(), strict=True):
    print(f"{score:5.0f} becomes {within:6.2f}; of a gradient passes {passed:.4f}")
#>     1 becomes   1.00; of a gradient passes 0.9996
#>    10 becomes   9.87; of a gradient passes 0.9610
#>    50 becomes  38.08; of a gradient passes 0.4200
#>   100 becomes  48.20; of a gradient passes 0.0707
#>   200 becomes  49.97; of a gradient passes 0.0013
#>   400 becomes  50.00; of a gradient passes 0.0000
