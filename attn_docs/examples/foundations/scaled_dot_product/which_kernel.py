import torch
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

x = torch.randn(2, 4, 16, 64)  # b h n d
with sdpa_kernel(SDPBackend.FLASH_ATTENTION):  # a fused kernel, or an error
    print(F.scaled_dot_product_attention(x, x, x, is_causal=True).shape)
    try:
        F.scaled_dot_product_attention(x[:, 0], x[:, 0], x[:, 0])  # three axes
    except RuntimeError as error:
        print(error)
#> torch.Size([2, 4, 16, 64])
#> No available kernel.  Aborting execution.
