import torch

from attn_docs.exhibits.kernels import flash_scaled_twice, flash_without_delta

torch.manual_seed(0)
x, w_v, d_out = torch.randn(9, 8), torch.randn(8, 8), torch.randn(9, 8)
for wrong in (None, flash_scaled_twice, flash_without_delta):
    torch.manual_seed(1)
    w_q, w_k = torch.randn(2, 8, 8).unbind()
    w_q.requires_grad_(), w_k.requires_grad_()
    adam = torch.optim.Adam([w_q, w_k], lr=0.01)
    for _ in range(20):
        q, k, v = x @ w_q, x @ w_k, x @ w_v
        output = torch.softmax(q @ k.T / 8**0.5, dim=-1) @ v
        slopes = torch.autograd.grad(output, (q, k), d_out, retain_graph=True)
        if wrong:
            slopes = wrong.gradients(*(t.detach() for t in (q, k, v, output)), d_out)[:2]
        w_q.grad, w_k.grad = x.T @ slopes[0], x.T @ slopes[1]
        adam.step()
    print(f"{(output * d_out).sum():.4f}")
#> -57.2171
#> -57.2171
#> -39.4731
