import torch

from attn_docs.exhibits.kernels import flash_scaled_twice, flash_without_delta

torch.manual_seed(0)
embeddings, w_v, d_out = torch.randn(9, 8), torch.randn(8, 8), torch.randn(9, 8)
for trained in ("projections", "projections and x"):
    for wrong in (None, flash_scaled_twice, flash_without_delta):
        torch.manual_seed(1)
        x, w_q, w_k = embeddings.clone(), *torch.randn(2, 8, 8)
        adam = torch.optim.Adam([w_q, w_k] + [x] * (trained != "projections"), lr=0.01)
        for _ in range(20):
            q, k, v = ((x @ w).requires_grad_() for w in (w_q, w_k, w_v))
            output = torch.softmax(q @ k.T / 8**0.5, dim=-1) @ v
            slopes = torch.autograd.grad(output, (q, k, v), d_out)
            if wrong:
                slopes = wrong.gradients(*(t.detach() for t in (q, k, v, output)), d_out)
            w_q.grad, w_k.grad = x.T @ slopes[0], x.T @ slopes[1]
            x.grad = sum(s @ w.T for s, w in zip(slopes, (w_q, w_k, w_v), strict=True))
            adam.step()
        name = wrong.__name__.rpartition(".")[2] if wrong else "right"
        print(f"{trained}, {name}: {(output * d_out).sum():.4f}")
#> projections, right: -57.2171
#> projections, flash_scaled_twice: -57.2171
#> projections, flash_without_delta: -39.4731
#> projections and x, right: -74.1550
#> projections and x, flash_scaled_twice: -77.3493
#> projections and x, flash_without_delta: -51.1429
