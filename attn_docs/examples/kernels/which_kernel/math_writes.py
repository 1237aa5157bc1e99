import torch
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves


class Written(TorchDispatchMode):
    """Print every tensor that is written: what is not a view of one that is there."""

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        result = func(*args, **(kwargs or {}))
        for tensor in tree_leaves(result):
            if tensor.untyped_storage().data_ptr() not in there and tensor.dim() > 2:
                there[tensor.untyped_storage().data_ptr()] = tensor  # kept, so no address returns
                print(f"  {func.name():15} {str(tensor.dtype)[6:]} {tuple(tensor.shape)}")
        return result


query = torch.randn(1, 8, 64, 32, dtype=torch.bfloat16)  # b h n d
key, value = torch.randn(2, 1, 2, 128, 32, dtype=torch.bfloat16).unbind()  # b g m d
for backend in (SDPBackend.FLASH_ATTENTION, SDPBackend.MATH):
    there = {x.untyped_storage().data_ptr(): x for x in (query, key, value)}
    print(backend.name)
    with sdpa_kernel(backend), Written():
        F.scaled_dot_product_attention(query, key, value, enable_gqa=True)
#> FLASH_ATTENTION
#>   aten::_scaled_dot_product_flash_attention_for_cpu bfloat16 (1, 8, 64, 32)
#>   aten::_scaled_dot_product_flash_attention_for_cpu float32 (1, 8, 64)
#> MATH
#>   aten::_to_copy  float32 (1, 8, 64, 32)
#>   aten::_to_copy  float32 (1, 2, 128, 32)
#>   aten::_to_copy  float32 (1, 2, 128, 32)
#>   aten::mul.Scalar float32 (1, 8, 64, 32)
#>   aten::clone     float32 (1, 2, 4, 128, 32)
#>   aten::clone     float32 (1, 2, 4, 128, 32)
#>   aten::mul.Scalar float32 (1, 8, 32, 128)
#>   aten::bmm       float32 (8, 64, 128)
#>   aten::_safe_softmax float32 (1, 8, 64, 128)
#>   aten::_to_copy  bfloat16 (1, 8, 64, 128)
#>   aten::bmm       float32 (8, 64, 32)
#>   aten::_to_copy  bfloat16 (1, 8, 64, 32)
