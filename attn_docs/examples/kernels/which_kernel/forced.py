import warnings

import torch
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

FLASH = SDPBackend.FLASH_ATTENTION
query, key, value = torch.randn(3, 2, 4, 5, 16).unbind()  # b h n d


def why_not(*tensors, **options):
    with warnings.catch_warnings(record=True) as caught, sdpa_kernel(FLASH):
        warnings.simplefilter("always")
        try:
            F.scaled_dot_product_attention(*tensors, **options)
        except RuntimeError as error:
            reasons = [str(each.message).partition(" (Triggered")[0] for each in caught]
            return [*reasons, str(error)]
    return ["taken"]


mask = torch.zeros(5, 5, requires_grad=True)
print(*why_not(query, key, value), sep="\n")
#> taken
print(*why_not(query, key, value, dropout_p=0.1), sep="\n")
#> Flash attention kernel not used because:
#> Both fused kernels do not support non-zero dropout.
#> No available kernel.  Aborting execution.
print(*why_not(query, key, value, attn_mask=mask), sep="\n")
#> Flash attention kernel not used because:
#> No available kernel.  Aborting execution.
