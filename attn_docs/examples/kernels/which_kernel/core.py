import torch
import torch.nn.functional as F
from torch.profiler import ProfilerActivity, profile

query, key, value = torch.randn(3, 2, 4, 5, 16).unbind()  # b h n d


def kernels(call):
    with profile(activities=[ProfilerActivity.CPU]) as profiler:
        call()
    names = [event.name for event in profiler.events()]
    return [name for name in names if name.startswith("aten::_scaled_dot_product_")]


print(kernels(lambda: F.scaled_dot_product_attention(query, key, value)))
#> ['aten::_scaled_dot_product_flash_attention_for_cpu']
print(kernels(lambda: F.scaled_dot_product_attention(query[0], key[0], value[0])))  # h n d
#> ['aten::_scaled_dot_product_attention_math']
print(kernels(lambda: F.scaled_dot_product_attention(query, key, value, dropout_p=0.1)))
#> ['aten::_scaled_dot_product_attention_math']

from attn_docs import which_kernel

print(which_kernel(query, key, value), which_kernel(query[0], key[0], value[0]))
#> FLASH_ATTENTION MATH
