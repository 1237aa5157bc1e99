import torch
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils._python_dispatch import TorchDispatchMode


class Copies(TorchDispatchMode):
    """Print the shape of each copy."""

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        result = func(*args, **(kwargs or {}))
        if func.name() == "aten::clone":
            print("  copied:", tuple(result.shape))
        return result


torch.manual_seed(0)
query = torch.randn(1, 8, 1, 16)  # b h 1 d: one new token
key, value = torch.randn(2, 1, 2, 513, 16)  # b g m d: a cache of 513 tokens
with sdpa_kernel(SDPBackend.MATH), Copies():
    print("enable_gqa")
    shared = F.scaled_dot_product_attention(query, key, value, enable_gqa=True)
    print("folded")
    folded = F.scaled_dot_product_attention(query.view(1, 2, 4, 16), key, value)
#> enable_gqa
#>   copied: (1, 2, 4, 513, 16)
#>   copied: (1, 2, 4, 513, 16)
#> folded
print(torch.allclose(folded.view(1, 8, 1, 16), shared, atol=1e-6))
#> True
