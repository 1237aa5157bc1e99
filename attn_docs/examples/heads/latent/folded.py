import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils._python_dispatch import TorchDispatchMode

from attn_docs import LatentCache, MultiHeadLatentAttention


class Copies(TorchDispatchMode):
    """Print the shape of each copy as large as the cache or larger."""

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        result = func(*args, **(kwargs or {}))
        if func.name() == "aten::clone" and result.numel() >= 513 * 80:
            print("  copied:", tuple(result.shape))
        return result


def folded(query, key, value, *_mask, scale, **_options):
    """Attend with one token's heads as the rows of a matrix: two products, no copy."""
    scores = query.squeeze(2) @ key.squeeze(1).mT * scale  # b h m
    return (scores.softmax(-1) @ value.squeeze(1)).unsqueeze(2)  # b h 1 c+r


torch.manual_seed(0)
attend = MultiHeadLatentAttention(512, 16, kv_rank=64, head_dim=32, rope_dim=16, value_dim=32)
x, outputs = torch.randn(1, 513, 512), []
with torch.no_grad(), sdpa_kernel(SDPBackend.MATH):
    for name, way in {"PyTorch's function": attend.attend, "folded": folded}.items():
        cache = LatentCache(batch=1, kv_rank=64, rope_dim=16, capacity=513)
        attend(x[:, :512], is_causal=True, cache=cache)
        attend.attend = way
        print(f"{name}, a cache of {tuple(cache.entries.shape)}:")
        with Copies():
            outputs.append(attend(x[:, 512:], cache=cache))
#> PyTorch's function, a cache of (1, 1, 513, 80):
#>   copied: (1, 1, 16, 513, 80)
#>   copied: (1, 1, 16, 513, 80)
#> folded, a cache of (1, 1, 513, 80):
print("equal:", torch.allclose(*outputs, atol=1e-6))
#> equal: True
