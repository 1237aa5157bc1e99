import torch
import torch.nn.functional as F

torch.manual_seed(0)
query = torch.randn(2, 8, 5, 16)  # b h n d: eight query heads
key = torch.randn(2, 1, 7, 16)  # one key head


def stored(x):
    return x.untyped_storage().nbytes()


print("one head", stored(key), "bytes")
#> one head 896 bytes
print("expand", stored(key.expand(-1, 8, -1, -1)))  # a view of the same memory
#> expand 896
print("repeat", stored(key.repeat(1, 8, 1, 1)))  # eight copies
#> repeat 7168
broadcast = F.scaled_dot_product_attention(query, key, key, enable_gqa=True)
repeated = key.repeat(1, 8, 1, 1)
copied = F.scaled_dot_product_attention(query, repeated, repeated)
print(torch.allclose(broadcast, copied, atol=1e-6))
#> True
