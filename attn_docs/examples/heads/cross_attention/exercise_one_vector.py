import torch

from attn_docs import CrossAttention

torch.manual_seed(0)
attend = CrossAttention(input_dim=6, context_dim=8, output_dim=4)
x = torch.randn(1, 3, 6, requires_grad=True)
context = torch.randn(1, 1, 8)  # a whole text in one vector
output = attend(x, context)
print(torch.equal(output, attend.v_proj(context).expand(1, 3, 4)))
#> True
output.sum().backward()
print(x.grad.abs().max().item(), attend.k_proj.weight.grad.abs().max().item())
#> 0.0 0.0
