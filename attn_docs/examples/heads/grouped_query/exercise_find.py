import torch
import torch.nn.functional as F


def share(x, heads):  # b g m d
    batch, kv_heads, length, size = x.shape
    x = x[:, None].expand(batch, heads // kv_heads, kv_heads, length, size)
    return x.reshape(batch, heads, length, size)  # b h m d


torch.manual_seed(0)
for h, g in ((8, 8), (8, 1), (8, 2)):
    query, (key, value) = torch.randn(2, h, 5, 4), torch.randn(2, 2, g, 5, 4)
    output = F.scaled_dot_product_attention(query, share(key, h), share(value, h))
    wanted = F.scaled_dot_product_attention(query, key, value, enable_gqa=True)
    print(h, g, torch.allclose(output, wanted, atol=1e-6))
#> 8 8 True
#> 8 1 True
#> 8 2 False
