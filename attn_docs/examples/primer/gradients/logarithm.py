import torch

losses = {"1 - weight": lambda w: 1 - w, "-log(weight)": lambda w: -torch.log(w)}
for name, loss in losses.items():
    scores = torch.tensor([-5.0, 0.0, 0.0], requires_grad=True)  # a bad start
    for _ in range(40):
        scores.grad = None
        loss(torch.softmax(scores, dim=0)[0]).backward()
        with torch.no_grad():
            scores -= 0.5 * scores.grad
    print(f"{name}: weight {torch.softmax(scores, dim=0)[0].item():.3f}")
#> 1 - weight: weight 0.004
#> -log(weight): weight 0.957
