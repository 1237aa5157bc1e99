import torch
import torch.nn.functional as F

from attn_docs import MultiHeadLatentAttention, split_heads

torch.manual_seed(0)
layer = MultiHeadLatentAttention(24, 3, kv_rank=32, head_dim=6, rope_dim=4, value_dim=5)
w_uk, w_uv = layer.kv_b_proj.weight.view(3, 6 + 5, 32).split((6, 5), 1)  # h d d_c, h e d_c


def decode(x, entries, place):  # b 1 D, b 1 m d_c+d_r: all tokens, the new one included
    query, query_rope = split_heads(layer.q_proj(x), 3).split((6, 4), -1)  # b h 1 d, b h 1 d_r
    query = torch.cat((query @ w_uk, layer.rotary(query_rope, place)), -1)  # b h 1 d_c+d_r
    mixed = F.scaled_dot_product_attention(query, entries, entries, enable_gqa=True)
    heads = mixed[..., :32] @ w_uv.mT  # b h 1 e
    return layer.out_proj(heads.transpose(1, 2).flatten(2))


x, cache = 3 * torch.randn(1, 9, 24), layer.new_cache(batch=1, capacity=9)
with torch.no_grad():
    right = layer(x, cache=cache)[:, -1:]
    found = decode(x[:, -1:], cache.entries, torch.tensor([8]))
print(found.shape == right.shape, f"{((found - right).norm() / right.norm()).item():.2f}")
#> True 0.32
