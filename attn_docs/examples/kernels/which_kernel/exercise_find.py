import torch
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel


def fused_only(attend):
    """Return a function that attends by a fused kernel, or raises an error."""
    with sdpa_kernel([SDPBackend.FLASH_ATTENTION, SDPBackend.EFFICIENT_ATTENTION]):

        def fused(*tensors):
            return attend(*tensors)

        return fused


attend = fused_only(F.scaled_dot_product_attention)
query, key, value = torch.randn(3, 4, 5, 16).unbind()  # h n d: no batch, so nothing fused
print(tuple(attend(query, key, value).shape))
#> (4, 5, 16)
