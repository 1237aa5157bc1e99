import warnings

import torch
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel


def fused_only(attend):
    """Return a function that attends by a fused kernel, or raises an error."""

    def fused(*tensors):
        with sdpa_kernel([SDPBackend.FLASH_ATTENTION, SDPBackend.EFFICIENT_ATTENTION]):
            return attend(*tensors)

    return fused


attend = fused_only(F.scaled_dot_product_attention)
query, key, value = torch.randn(3, 4, 5, 16).unbind()  # h n d: no batch, so nothing fused
with warnings.catch_warnings(action="ignore"):  # the reasons
    try:
        attend(query, key, value)
    except RuntimeError as error:
        print(error)
#> No available kernel.  Aborting execution.
print(tuple(attend(query[None], key[None], value[None]).shape))
#> (1, 4, 5, 16)
