import torch
import torch.nn.functional as F

from attn_docs import merge_attention

name = "_scaled_dot_product_flash_attention_for_cpu"  # private: it may change
kernel = getattr(torch.ops.aten, name)  # spreads heads over the threads, but not keys


def decode(query, key, value, parts):  # 1 1 1 d, 1 1 m d
    key, value = (x.unflatten(-2, (parts, -1)).squeeze(1) for x in (key, value))  # 1 p m/p d
    outputs, lses = kernel(query.expand(-1, parts, -1, -1), key, value)  # parts posing as heads
    return merge_attention(outputs.unbind(1), lses.unbind(1))[0].unsqueeze(1)  # 1 1 1 e


query, key, value = torch.randn(1, 1, 1, 128), *torch.randn(2, 1, 1, 32768, 128)
whole = F.scaled_dot_product_attention(query, key, value)
print([torch.allclose(decode(query, key, value, p), whole, atol=1e-6) for p in (1, 2, 4)])
#> [True, True, True]
