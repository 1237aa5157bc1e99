import torch

from attn_docs import attention_kernels
from attn_docs.exhibits.kernels import enabled_not_forced, mask_without_heads, weights_thrown_away

query, key, value = torch.randn(3, 2, 4, 5, 16).unbind()  # b h n d
block, x = weights_thrown_away.Block(), torch.randn(2, 5, 16)  # b n D
calls = {
    "weights_thrown_away": lambda: block(x),
    "mask_without_heads": lambda: mask_without_heads.attention(query, key, value),
    "enabled_not_forced": lambda: enabled_not_forced.attention(query, key, value, dropout_p=0.1),
}
for name, call in calls.items():
    print(f"{name:20}", attention_kernels(call))
#> weights_thrown_away  []
#> mask_without_heads   ['MATH']
#> enabled_not_forced   ['MATH']
