import torch

from attn_docs import causal_mask

torch.manual_seed(0)
x = torch.randn(1, 3, 4)
blocked = causal_mask(3)  # wrong: not inverted, so the last query sees nothing
module = torch.nn.MultiheadAttention(embed_dim=4, num_heads=2, batch_first=True)

for need_weights in (True, False):
    module.zero_grad()
    output, _ = module(x, x, x, attn_mask=blocked, need_weights=need_weights)
    output[:, :2].sum().backward()  # the loss leaves the fully masked row out
    print(f"{need_weights=}", output.isnan().any(dim=-1))
    print("NaN in the gradient:", module.in_proj_weight.grad.isnan().any())
#> need_weights=True tensor([[False, False,  True]])
#> NaN in the gradient: tensor(True)
#> need_weights=False tensor([[False, False, False]])
#> NaN in the gradient: tensor(False)

module.eval()
with torch.no_grad():
    output, _ = module(x, x, x, attn_mask=blocked, need_weights=False)
print("in evaluation", output.isnan().any(dim=-1))
#> in evaluation tensor([[False, False,  True]])
