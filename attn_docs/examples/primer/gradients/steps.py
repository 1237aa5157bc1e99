import torch

scores = torch.zeros(3, requires_grad=True)
for step in range(41):
    weights = torch.softmax(scores, dim=0)
    loss = -torch.log(weights[0])  # zero if the first word gets all
    if step % 10 == 0:
        print(step, f"{loss.item():.4f}", weights.data)
    scores.grad = None  # or it would be added to
    loss.backward()
    with torch.no_grad():
        scores -= 0.5 * scores.grad  # a step downhill
#> 0 1.0986 tensor([0.3333, 0.3333, 0.3333])
#> 10 0.1517 tensor([0.8592, 0.0704, 0.0704])
#> 20 0.0736 tensor([0.9291, 0.0355, 0.0355])
#> 30 0.0480 tensor([0.9531, 0.0235, 0.0235])
#> 40 0.0356 tensor([0.9651, 0.0175, 0.0175])
