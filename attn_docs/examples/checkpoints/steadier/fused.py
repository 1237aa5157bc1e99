import torch

from attn_docs import sink_attention

torch.manual_seed(0)
query, key, value = torch.randn(3, 2, 4, 64, 32).unbind()  # b h n d
sinks = torch.randn(4)

name = "_scaled_dot_product_flash_attention_for_cpu"  # private: it may change
kernel = getattr(torch.ops.aten, name)  # it returns the log-sum-exp as well
output, lse = kernel(query, key, value, is_causal=True)  # b h n d, b h n
fused = torch.sigmoid(lse - sinks[:, None]).unsqueeze(-1) * output  # b h n d

formula = sink_attention(query, key, value, is_causal=True, sinks=sinks)
print(torch.allclose(fused, formula, atol=1e-5))
#> True
