import torch
from torch.backends.cuda import SDPAParams, can_use_flash_attention, enable_flash_sdp
from torch.nn.attention import SDPBackend, sdpa_kernel

from attn_docs import which_kernel

FLASH, MATH = SDPBackend.FLASH_ATTENTION, SDPBackend.MATH
query, key, value = torch.randn(3, 2, 4, 5, 16).unbind()  # b h n d

enable_flash_sdp(True)  # allows flash, and does not forbid MATH
print("enabled: ", which_kernel(query, key, value, dropout_p=0.1))
#> enabled:  MATH
with sdpa_kernel([FLASH, MATH]):  # the same
    print("both:    ", which_kernel(query, key, value, dropout_p=0.1))
#> both:     MATH
with sdpa_kernel([MATH, FLASH], set_priority=True):  # on a CPU the order is fixed
    print("ordered: ", which_kernel(query, key, value))
#> ordered:  FLASH_ATTENTION
with sdpa_kernel(FLASH), sdpa_kernel(MATH):  # the inner one replaces the outer one
    print("nested:  ", which_kernel(query, key, value))
#> nested:   MATH
params = SDPAParams(query, key, value, None, 0.0, False, False)
print("can use: ", can_use_flash_attention(params), "but", which_kernel(query, key, value))
#> can use:  False but FLASH_ATTENTION
