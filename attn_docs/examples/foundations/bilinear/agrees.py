import torch
import torch.nn.functional as F

from attn_docs import BilinearAttention

torch.manual_seed(0)
b, n, m, q, k, e = 2, 3, 5, 4, 6, 7
attend = BilinearAttention(q, k).double()
leaves = [torch.randn(*s).double().requires_grad_() for s in ((b, n, q), (b, m, k), (b, m, e))]
query, key, value = leaves
leaves.append(attend.weight)

pairs = query[:, :, None].expand(b, n, m, q), key[:, None].expand(b, n, m, k)
scores = F.bilinear(*(t.contiguous() for t in pairs), attend.weight[None])[..., 0]  # b n m
theirs = torch.softmax(scores / (q * k) ** 0.25, dim=-1) @ value
ours = attend(query, key, value)

difference = (ours - theirs).abs().max().item()
gradients = [torch.autograd.grad(out.square().sum(), leaves) for out in (ours, theirs)]
for mine, reference in zip(*gradients, strict=True):
    difference = max(difference, (mine - reference).abs().max().item())
print(difference < 1e-12)
#> True
