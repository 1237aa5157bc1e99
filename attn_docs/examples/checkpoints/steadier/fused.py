import torch
import torch.nn.functional as F
from torch import _fused_sdp_choice  # private: it may change
from torch.nn.attention import SDPBackend

from attn_docs import causal_mask, sink_attention

torch.manual_seed(0)
h, n, d = 4, 64, 32
query, key, value = torch.randn(3, 2, h, n, d).requires_grad_().unbind()  # b h n d
sinks = torch.randn(h, requires_grad=True)

first_key, first_value = (F.pad(t, (0, 0, 1, 0)) for t in (key, value))  # b h n+1 d: zeros first
mask = torch.zeros(n, n).masked_fill(~causal_mask(n, n), float("-inf"))
column = sinks.view(h, 1, 1).expand(h, n, 1)
mask = torch.cat([column, mask.expand(h, n, n)], dim=-1)  # h n n+1: the sink's score is 0 + sink
ours = F.scaled_dot_product_attention(query, first_key, first_value, mask[None])

formula = sink_attention(query, key, value, is_causal=True, sinks=sinks)
print(torch.allclose(ours, formula, atol=1e-5))
#> True

grads = [torch.autograd.grad(o.square().sum(), sinks)[0] for o in (ours, formula)]
print(torch.allclose(*grads, rtol=1e-3))
#> True

for name, given in {"sinks fixed": mask.detach(), "sinks learned": mask}.items():
    chosen = _fused_sdp_choice(query, first_key, first_value, given[None])
    print(f"{name}: {SDPBackend(chosen).name}")
#> sinks fixed: FLASH_ATTENTION
#> sinks learned: MATH
