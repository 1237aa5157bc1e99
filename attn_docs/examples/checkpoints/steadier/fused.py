import torch
import torch.nn.functional as F
from torch import _fused_sdp_choice  # private: it may change
from torch.nn.attention import SDPBackend

from attn_docs import sink_attention

torch.manual_seed(0)
h, n, d = 4, 64, 32
query, key, value = torch.randn(3, 2, h, n, d).requires_grad_().unbind()  # b h n d
sinks = torch.randn(h, requires_grad=True)

# one more place in front, and one more feature: 1 in queries, 0 in keys
queries = F.pad(F.pad(query, (0, 1), value=1.0), (0, 0, 1, 0))  # b h n+1 d+1
keys, values = F.pad(key, (0, 1, 1, 0)), F.pad(value, (0, 1, 1, 0))  # b h n+1 d+1
sink_key = F.pad((sinks * d**0.5).view(h, 1, 1), (d, 0, 0, n))  # h n+1 d+1: in the first place
keys = keys + sink_key  # its score is sinks * √d / √d with every query
ours = F.scaled_dot_product_attention(queries, keys, values, is_causal=True, scale=d**-0.5)
ours = ours[:, :, 1:, :d]  # b h n d

formula = sink_attention(query, key, value, is_causal=True, sinks=sinks)
print(torch.allclose(ours, formula, atol=1e-5))
#> True

grads = [torch.autograd.grad(o.square().sum(), sinks)[0] for o in (ours, formula)]
print(torch.allclose(*grads, rtol=1e-3))
#> True

chosen = _fused_sdp_choice(queries, keys, values, is_causal=True, scale=d**-0.5)
print(SDPBackend(chosen).name)
#> FLASH_ATTENTION
