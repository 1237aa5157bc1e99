import torch
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

torch.manual_seed(0)
mask = torch.ones(64, 64, dtype=torch.bool)
mask[3] = False  # the fourth query may attend to nothing

for dtype in (torch.float64, torch.float32, torch.bfloat16):
    query, key, value = torch.randn(3, 2, 4, 64, 16, dtype=dtype).unbind()  # b h n d
    outputs = []
    for backend in (SDPBackend.FLASH_ATTENTION, SDPBackend.MATH):
        with sdpa_kernel(backend):
            outputs.append(F.scaled_dot_product_attention(query, key, value, mask))
    flash, math = outputs
    near = torch.allclose(flash, math, rtol=0, atol=8 * torch.finfo(dtype).eps)
    zeros = not flash[..., 3, :].any() and not math[..., 3, :].any()
    print(f"{dtype}: within 8 eps {near}, a row of zeros in both {zeros}")
#> torch.float64: within 8 eps True, a row of zeros in both True
#> torch.float32: within 8 eps True, a row of zeros in both True
#> torch.bfloat16: within 8 eps True, a row of zeros in both True
