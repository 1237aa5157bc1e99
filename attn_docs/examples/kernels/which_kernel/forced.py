import warnings

import torch
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

query, key, value = torch.randn(3, 2, 4, 5, 16).unbind()  # b h n d
learned = torch.zeros(5, 5, requires_grad=True)
for options in ({}, {"dropout_p": 0.1}, {"attn_mask": learned}):
    with warnings.catch_warnings(record=True) as said, sdpa_kernel(SDPBackend.FLASH_ATTENTION):
        warnings.simplefilter("always")
        try:
            F.scaled_dot_product_attention(query, key, value, **options)
            print("taken")
        except RuntimeError as error:
            reasons = (str(each.message).partition(" (Triggered")[0] for each in said)
            print(*reasons, error, sep="\n")
#> taken
#> Flash attention kernel not used because:
#> Both fused kernels do not support non-zero dropout.
#> No available kernel.  Aborting execution.
#> Flash attention kernel not used because:
#> No available kernel.  Aborting execution.
