import torch
from torch.utils._python_dispatch import TorchDispatchMode


class Watch(TorchDispatchMode):
    """Print each copy and each matrix product."""

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        result = func(*args, **(kwargs or {}))
        if func.name() in ("aten::clone", "aten::bmm"):
            print(f"  {func.name():11}", tuple(result.shape))
        return result


query = torch.randn(2, 3, 4, 5, 8)  # b g r n d
key = torch.randn(2, 3, 7, 8)  # b g m d
with Watch():
    print("matmul:")
    query @ key.unsqueeze(2).mT  # b g r n m
    print("einsum:")
    torch.einsum("bgrnd,bgmd->bgrnm", query, key)
#> matmul:
#>   aten::clone (2, 3, 4, 8, 7)
#>   aten::bmm   (24, 5, 7)
#> einsum:
#>   aten::bmm   (6, 20, 7)
