import torch
import torch.nn.functional as F

from attn_docs import apply_rotary

torch.manual_seed(0)
b, m, D, h, d, e, d_c, d_r = 2, 6, 24, 3, 6, 5, 8, 4
sizes = [(D, h * (d + d_r)), (D, d_c + d_r), (d_c, h * (d + e)), (h * e, D)]
w_q, w_kv_a, w_kv_b, w_o = (torch.randn(size) / size[0] ** 0.5 for size in sizes)
x, places = torch.randn(b, m, D), torch.arange(m)  # m tokens, and the last one asks

c, key_rope = (x @ w_kv_a)[:, None].split((d_c, d_r), -1)  # cached: b 1 m d_c, b 1 m d_r
c, key_rope = F.rms_norm(c, (d_c,)), apply_rotary(key_rope, places, interleaved=True)
w_uk, w_uv = w_kv_b.view(d_c, h, d + e).transpose(0, 1).split((d, e), -1)  # h d_c d, h d_c e
query, query_rope = (x[:, -1] @ w_q).view(b, h, 1, d + d_r).split((d, d_r), -1)  # b h 1 d
rope_scores = apply_rotary(query_rope, places[-1:], interleaved=True) @ key_rope.mT  # b h 1 m

key, value = c @ w_uk, c @ w_uv  # naive: b h m d, b h m e
weights = ((query @ key.mT + rope_scores) / (d + d_r) ** 0.5).softmax(-1)  # b h 1 m
naive = weights @ value  # b h 1 e

query_c = query @ w_uk.mT  # absorbed: b h 1 d_c
weights = ((query_c @ c.mT + rope_scores) / (d + d_r) ** 0.5).softmax(-1)  # b h 1 m
absorbed = weights @ c @ w_uv  # b h 1 d_c, then b h 1 e
print(torch.allclose(naive, absorbed, atol=1e-6))
#> True

from attn_docs import MultiHeadLatentAttention

layer = MultiHeadLatentAttention(D, h, kv_rank=d_c, head_dim=d, rope_dim=d_r, value_dim=e)
projections = (layer.q_proj, layer.kv_a_proj, layer.kv_b_proj, layer.out_proj)
for projection, weight in zip(projections, (w_q, w_kv_a, w_kv_b, w_o), strict=True):
    projection.weight.data = weight.T
wanted = layer(x, is_causal=True)[:, -1]  # b D
print(torch.allclose(absorbed.flatten(1) @ w_o, wanted, atol=1e-6))
#> True
