import torch
import torch.nn.functional as F

from attn_docs import softcap_attention
from attn_docs.exhibits.checkpoints.softcap_ignored import attention as ignores

torch.manual_seed(0)
query, key, value = (5 * torch.randn(3, 2, 3, 8, 16)).unbind()  # large: scores beyond a cap
plain = F.scaled_dot_product_attention(query, key, value)  # b h n d
for name, attend in {"right": softcap_attention, "the one above": ignores}.items():
    output = attend(query, key, value, softcap=5.0)
    print(f"{name}: moved by {((output - plain).norm() / plain.norm()).item():.2f}")
#> right: moved by 0.77
#> the one above: moved by 0.00
