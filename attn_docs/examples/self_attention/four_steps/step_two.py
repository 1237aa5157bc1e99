import torch

from attn_docs import FusedSelfAttention, SelfAttention

torch.manual_seed(0)
separate = SelfAttention(input_dim=6, output_dim=4).double()
fused = FusedSelfAttention(input_dim=6, output_dim=4).double()
names = ("q_proj", "k_proj", "v_proj")

# from three layers to one: rows on rows
layers = [getattr(separate, name) for name in names]
with torch.no_grad():
    fused.qkv_proj.weight.copy_(torch.cat([layer.weight for layer in layers]))
    fused.qkv_proj.bias.copy_(torch.cat([layer.bias for layer in layers]))

x = torch.randn(2, 3, 6, dtype=torch.float64)
print(tuple(fused.qkv_proj.weight.shape), tuple(fused(x).shape))
#> (12, 6) (2, 3, 4)
print((fused(x) - separate(x)).abs().max().item() < 1e-12)
#> True

# and back, through the names in the state dict
state = {}
for name, w, b in zip(
    names, fused.qkv_proj.weight.chunk(3), fused.qkv_proj.bias.chunk(3), strict=True
):
    state |= {f"{name}.weight": w, f"{name}.bias": b}
other = SelfAttention(input_dim=6, output_dim=4).double()
other.load_state_dict(state)
print(torch.equal(other(x), separate(x)))
#> True
