import torch
import torch.nn.functional as F
from torch.nn.attention.bias import causal_lower_right

from attn_docs import KVCache, causal_mask


def sees(n, m, **options):  # 1 where a query gives a key weight
    zeros, unit = torch.zeros(1, 1, n, m), torch.eye(m).expand(1, 1, m, m)
    heads = F.scaled_dot_product_attention(zeros, unit, unit, **options)
    return (heads[0, 0] > 0).int().tolist()


new = torch.zeros(1, 1, 2, 1)
cache = KVCache(batch=1, num_kv_heads=1, head_dim=1, capacity=4)
cache.update(new, new)  # "the cat" is kept
print("is_causal         ", sees(2, 4, is_causal=True))
#> is_causal          [[1, 0, 0, 0], [1, 1, 0, 0]]
print("causal_lower_right", sees(2, 4, attn_mask=causal_lower_right(2, 4)))
#> causal_lower_right [[1, 1, 1, 0], [1, 1, 1, 1]]
print("the cache         ", cache.visible(2).int().tolist())
#> the cache          [[1, 1, 1, 0], [1, 1, 1, 1]]
print("first with first  ", sees(4, 2, is_causal=True))
#> first with first   [[1, 0], [1, 1], [1, 1], [1, 1]]
print("last with last    ", causal_mask(4, 2, offset=-2).int().tolist())
#> last with last     [[0, 0], [0, 0], [1, 0], [1, 1]]
