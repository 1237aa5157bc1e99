import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.attention import SDPBackend, sdpa_kernel

causal_mask = nn.Transformer.generate_square_subsequent_mask  # 0 and -inf
single, double, flash = torch.float32, torch.float64, "FLASH_ATTENTION"
torch.manual_seed(0)
for n in (5, 16):
    query, key = torch.randn(2, 1, 1, n, n, dtype=double)  # b h n d, with d = n
    value = torch.eye(n, dtype=double)[None, None]  # the output is the weights
    for name, dtype in (("MATH", single), (flash, double), (flash, single)):
        mask = causal_mask(n, dtype=dtype)
        with sdpa_kernel(getattr(SDPBackend, name)):
            weights = F.scaled_dot_product_attention(query, key, value, mask)[0, 0]
        later = int((weights[0, 1:] > 0).sum())
        print(f"{n:2} tokens, {dtype} mask, {name}: the first sees {later} later ones")
#>  5 tokens, torch.float32 mask, MATH: the first sees 0 later ones
#>  5 tokens, torch.float64 mask, FLASH_ATTENTION: the first sees 0 later ones
#>  5 tokens, torch.float32 mask, FLASH_ATTENTION: the first sees 0 later ones
#> 16 tokens, torch.float32 mask, MATH: the first sees 0 later ones
#> 16 tokens, torch.float64 mask, FLASH_ATTENTION: the first sees 0 later ones
#> 16 tokens, torch.float32 mask, FLASH_ATTENTION: the first sees 8 later ones
