import torch
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

device = "cuda" if torch.cuda.is_available() else "cpu"
query, key, value = torch.randn(3, 2, 8, 1024, 64, device=device).bfloat16()  # b h n d
with sdpa_kernel(SDPBackend.FLASH_ATTENTION):  # an error, if this kernel cannot take the call
    output = F.scaled_dot_product_attention(query, key, value, is_causal=True)
print(tuple(output.shape), output.dtype)
#> (2, 8, 1024, 64) torch.bfloat16
