import torch
from torch import nn

from attn_docs import MultiHeadAttention, MultiHeadLatentAttention

torch.manual_seed(0)
h, d = 3, 8
theirs = MultiHeadAttention(h * d, h, bias=False)
ours = MultiHeadLatentAttention(
    h * d, h, kv_rank=h * d, head_dim=d, rope_dim=2, value_dim=d
)
ours.kv_a_norm = nn.Identity()  # a norm would lose the vectors' lengths
with torch.no_grad():
    q, k, v = (
        layer.weight.view(h, d, h * d)
        for layer in (theirs.q_proj, theirs.k_proj, theirs.v_proj)
    )
    ours.kv_a_proj.weight[:-2] = torch.eye(h * d)  # cached: the input itself
    ours.kv_b_proj.weight.copy_(torch.cat((k, v), dim=1).flatten(0, 1))
    ours.q_proj.weight.zero_()  # the rotary part of queries: not used
    rows = ours.q_proj.weight.view(h, d + 2, h * d)
    rows[:, :d] = q * ((d + 2) / d) ** 0.5  # the scale is 1/√(d + 2)
    ours.out_proj.weight.copy_(theirs.out_proj.weight)

x = torch.randn(2, 5, h * d)
for absorb in (False, True):
    output = ours(x, is_causal=True, absorb=absorb)
    print(torch.allclose(output, theirs(x, is_causal=True), atol=1e-5))
#> True
#> True
