import torch

from attn_docs import FusedSelfAttention, SelfAttention

torch.manual_seed(0)
separate = SelfAttention(input_dim=6, output_dim=4).double()
fused = FusedSelfAttention(input_dim=6, output_dim=4).double()
x = torch.randn(2, 3, 6, dtype=torch.float64)  # b n input_dim

# from three layers to one: rows on rows, queries first, then keys, then values
layers = [separate.q_proj, separate.k_proj, separate.v_proj]
with torch.no_grad():
    fused.qkv_proj.weight.copy_(torch.cat([layer.weight for layer in layers]))
    fused.qkv_proj.bias.copy_(torch.cat([layer.bias for layer in layers]))
print(tuple(fused.qkv_proj.weight.shape), torch.allclose(fused(x), separate(x)))
#> (12, 6) True

# and back
parts = zip("qkv", fused.qkv_proj.weight.chunk(3), fused.qkv_proj.bias.chunk(3), strict=True)
state = {f"{n}_proj.{kind}": t for n, w, b in parts for kind, t in (("weight", w), ("bias", b))}
other = SelfAttention(input_dim=6, output_dim=4).double()
print(other.load_state_dict(state), torch.equal(other(x), separate(x)))
#> <All keys matched successfully> True
