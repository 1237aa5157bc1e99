import torch
import torch.nn.functional as F

from attn_docs import KVCache

torch.manual_seed(0)
key, value, query = torch.randn(3, 1, 1, 7, 2).unbind()  # b h 7 d
cache = KVCache(batch=1, num_kv_heads=1, head_dim=2, capacity=7, window=4)
for t in range(7):
    positions = cache.key_positions(1)
    print(f"word {t}: the slots hold {positions.tolist()}")
    ring = cache.update(key[:, :, [t]], value[:, :, [t]])
#> word 0: the slots hold [0]
#> word 1: the slots hold [0, 1]
#> word 2: the slots hold [0, 1, 2]
#> word 3: the slots hold [0, 1, 2, 3]
#> word 4: the slots hold [4, 1, 2, 3]
#> word 5: the slots hold [4, 5, 2, 3]
#> word 6: the slots hold [4, 5, 6, 3]

last = query[:, :, -1:]
in_order = key[:, :, -4:], value[:, :, -4:]  # 3 4 5 6 instead of 4 5 6 3
a, b = (F.scaled_dot_product_attention(last, *kept) for kept in (ring, in_order))
print(torch.allclose(a, b, atol=1e-6))
#> True
