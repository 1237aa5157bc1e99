# skip: needs a GPU and the package flash-attn
import torch
from flash_attn import flash_attn_func

query, key, value = torch.randn(3, 2, 8, 1024, 64, device="cuda").bfloat16()  # b h n d
query, key, value = (x.transpose(1, 2) for x in (query, key, value))  # b n h d
output = flash_attn_func(query, key, value, causal=True).transpose(1, 2)  # b h n e
