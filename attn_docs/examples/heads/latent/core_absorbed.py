import torch
import torch.nn.functional as F

torch.manual_seed(0)
b, m, D, h, d, e, d_c, d_r = 2, 6, 24, 3, 6, 5, 8, 4
sizes = [(D, h * (d + d_r)), (D, d_c + d_r), (d_c, h * (d + e)), (h * e, D)]
w_q, w_kv_a, w_kv_b, w_o = (torch.randn(size) / size[0] ** 0.5 for size in sizes)
x = torch.randn(b, m, D)  # m tokens, and the last one asks
turns = torch.polar(torch.ones(m, 2), torch.arange(m)[:, None] / torch.tensor([1, 100]))


def rotate(x, turns):  # two neighbouring elements are one complex number
    rotated = torch.view_as_complex(x.unflatten(-1, (-1, 2))) * turns
    return torch.view_as_real(rotated).flatten(-2)


c, key_rope = (x @ w_kv_a).split((d_c, d_r), -1)  # b m d_c, b m d_r
c, key_rope = F.rms_norm(c, (d_c,)), rotate(key_rope, turns)  # these two are cached
w_uk, w_uv = w_kv_b.view(d_c, h, d + e).transpose(0, 1).split((d, e), -1)  # h d_c d, h d_c e
query, query_rope = (x[:, -1] @ w_q).view(b, h, 1, d + d_r).split((d, d_r), -1)  # b h 1 d
rope_scores = rotate(query_rope, turns[-1]) @ key_rope[:, None].mT  # b h 1 m

query_c = query @ w_uk.mT  # b h 1 d_c
weights = ((query_c @ c[:, None].mT + rope_scores) / (d + d_r) ** 0.5).softmax(-1)  # b h 1 m
output = (weights @ c[:, None] @ w_uv).flatten(1) @ w_o  # b h 1 d_c, b h 1 e, b D

from attn_docs import MultiHeadLatentAttention

layer = MultiHeadLatentAttention(D, h, kv_rank=d_c, head_dim=d, rope_dim=d_r, value_dim=e)
projections = (layer.q_proj, layer.kv_a_proj, layer.kv_b_proj, layer.out_proj)
for projection, weight in zip(projections, (w_q, w_kv_a, w_kv_b, w_o), strict=True):
    projection.weight.data = weight.T
print(torch.allclose(output, layer(x, is_causal=True, absorb=True)[:, -1], atol=1e-6))
#> True
