import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.attention import SDPBackend, sdpa_kernel

FLASH, MATH = SDPBackend.FLASH_ATTENTION, SDPBackend.MATH
causal_mask = nn.Transformer.generate_square_subsequent_mask  # 0 and -inf
torch.manual_seed(0)
for n in (5, 16):
    query, key = torch.randn(2, 1, 1, n, n, dtype=torch.float64)  # b h n d, with d = n
    value = torch.eye(n, dtype=torch.float64)[None, None]  # so that the output is the weights
    for backend, dtype in ((MATH, torch.float32), (FLASH, torch.float64), (FLASH, torch.float32)):
        with sdpa_kernel(backend):
            mask = causal_mask(n, dtype=dtype)
            weights = F.scaled_dot_product_attention(query, key, value, mask)[0, 0]  # n m
        later = int((weights[0, 1:] > 0).sum())
        print(f"{n:2} tokens, a {dtype} mask, {backend.name}: the first sees {later} later ones")
#>  5 tokens, a torch.float32 mask, MATH: the first sees 0 later ones
#>  5 tokens, a torch.float64 mask, FLASH_ATTENTION: the first sees 0 later ones
#>  5 tokens, a torch.float32 mask, FLASH_ATTENTION: the first sees 0 later ones
#> 16 tokens, a torch.float32 mask, MATH: the first sees 0 later ones
#> 16 tokens, a torch.float64 mask, FLASH_ATTENTION: the first sees 0 later ones
#> 16 tokens, a torch.float32 mask, FLASH_ATTENTION: the first sees 8 later ones
