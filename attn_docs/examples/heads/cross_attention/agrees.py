import torch
import torch.nn.functional as F

from attn_docs import CrossAttention, padding_mask

torch.manual_seed(0)
ours = CrossAttention(input_dim=6, context_dim=8, output_dim=6).double()
theirs = torch.nn.MultiheadAttention(6, 1, kdim=8, vdim=8, batch_first=True).double()
with torch.no_grad():
    for name in ("q", "k", "v"):
        getattr(theirs, f"{name}_proj_weight").copy_(getattr(ours, f"{name}_proj").weight)
    biases = [ours.q_proj.bias, ours.k_proj.bias, ours.v_proj.bias]
    theirs.in_proj_bias.copy_(torch.cat(biases))
    theirs.out_proj.weight.copy_(torch.eye(6))  # it always mixes its heads; here, not
    theirs.out_proj.bias.zero_()

x = torch.randn(3, 4, 6, dtype=torch.float64, requires_grad=True)
context = torch.randn(3, 7, 8, dtype=torch.float64, requires_grad=True)
mask = padding_mask([7, 2, 5])  # b m, True attends
output = ours(x, context, mask[:, None])
module = theirs(x, context, context, key_padding_mask=~mask)[0]  # True blocks
projected = ours.q_proj(x), ours.k_proj(context), ours.v_proj(context)
function = F.scaled_dot_product_attention(*projected, mask[:, None])
for name, other in (("module", module), ("function", function)):
    difference = (output - other).abs().max().item()
    for leaf in (x, context):
        (mine,) = torch.autograd.grad(output.sin().sum(), leaf, retain_graph=True)
        (same,) = torch.autograd.grad(other.sin().sum(), leaf, retain_graph=True)
        difference = max(difference, (mine - same).abs().max().item())
    print(name, difference < 1e-12)
#> module True
#> function True
