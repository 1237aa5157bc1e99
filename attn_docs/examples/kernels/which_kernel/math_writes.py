import torch
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves


class Written(TorchDispatchMode):
    """Print every matrix that an operator returns and that is not a view of one that is there."""

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        result = func(*args, **(kwargs or {}))
        for x in tree_leaves(result):
            address = x.untyped_storage().data_ptr()
            if address not in there and x.dim() > 1:
                there[address] = x  # kept, so that its address stays taken
                print(f"  {tuple(x.shape)!s:20} {str(x.dtype)[6:]:9} {func.name()[6:]}")
        return result


query = torch.randn(1, 8, 64, 32, dtype=torch.bfloat16)  # b h n d
key, value = torch.randn(2, 1, 2, 128, 32, dtype=torch.bfloat16).unbind()  # b g m d
seen = torch.ones(64, 128, dtype=torch.bool)  # n m
FLASH, MATH = SDPBackend.FLASH_ATTENTION, SDPBackend.MATH
for backend, mask in ((FLASH, None), (FLASH, seen), (MATH, None)):
    there = {x.untyped_storage().data_ptr(): x for x in (query, key, value, seen)}
    print(backend.name + ("" if mask is None else ", with a boolean mask"))
    with sdpa_kernel(backend), Written():
        F.scaled_dot_product_attention(query, key, value, mask, enable_gqa=True)
#> FLASH_ATTENTION
#>   (1, 8, 64, 32)       bfloat16  _scaled_dot_product_flash_attention_for_cpu
#>   (1, 8, 64)           float32   _scaled_dot_product_flash_attention_for_cpu
#> FLASH_ATTENTION, with a boolean mask
#>   (64, 128)            bfloat16  where.self
#>   (1, 8, 64, 32)       bfloat16  _scaled_dot_product_flash_attention_for_cpu
#>   (1, 8, 64)           float32   _scaled_dot_product_flash_attention_for_cpu
#> MATH
#>   (1, 8, 64, 32)       float32   _to_copy
#>   (1, 2, 128, 32)      float32   _to_copy
#>   (1, 2, 128, 32)      float32   _to_copy
#>   (1, 8, 64, 32)       float32   mul.Scalar
#>   (1, 2, 4, 128, 32)   float32   clone
#>   (1, 2, 4, 128, 32)   float32   clone
#>   (1, 8, 32, 128)      float32   mul.Scalar
#>   (8, 64, 128)         float32   bmm
#>   (1, 8, 64, 128)      float32   _safe_softmax
#>   (1, 8, 64, 128)      bfloat16  _to_copy
#>   (8, 64, 32)          float32   bmm
#>   (1, 8, 64, 32)       bfloat16  _to_copy
