import torch
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

torch.manual_seed(0)
mask = torch.ones(64, 64, dtype=torch.bool)
mask[3] = False  # the fourth query may attend to nothing

for dtype in (torch.float64, torch.float32, torch.bfloat16):
    query, key, value = torch.randn(3, 2, 4, 64, 16, dtype=dtype).unbind()  # b h n d
    outputs = {}
    for backend in (SDPBackend.FLASH_ATTENTION, SDPBackend.MATH):
        with sdpa_kernel(backend):
            outputs[backend] = F.scaled_dot_product_attention(query, key, value, mask)
    flash, plain = outputs.values()
    steps = (flash - plain).abs().max() / torch.finfo(dtype).eps
    same, zeros = torch.equal(flash, plain), not flash[..., 3, :].any() and not plain[..., 3, :].any()
    print(f"{dtype}: equal {same}, {steps:.0f} eps apart at most; masked row zero: {zeros}")
#> torch.float64: equal False, 4 eps apart at most; masked row zero: True
#> torch.float32: equal False, 4 eps apart at most; masked row zero: True
#> torch.bfloat16: equal False, 0 eps apart at most; masked row zero: True
