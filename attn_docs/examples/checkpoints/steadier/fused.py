import torch
import torch.nn.functional as F
from torch import _fused_sdp_choice  # private: it may change
from torch.nn.attention import SDPBackend

from attn_docs import sink_attention


def prepared(query, key, value, sinks):  # the n queries are the last of m tokens
    n, m, d = query.size(-2), *key.shape[-2:]
    # one more key in front, and one more feature: 1 in queries, 0 in keys
    query = F.pad(query, (0, 1), value=1.0)  # b h n d+1
    key, value = F.pad(key, (0, 1, 1, 0)), F.pad(value, (0, 1, 1, 0))  # b h m+1 d+1
    sink_key = F.pad((sinks * d**0.5).view(-1, 1, 1), (d, 0, 0, m))  # h m+1 d+1: in front
    given = {"key": key + sink_key, "value": value, "scale": d**-0.5}  # its score: the sink
    if n == m:  # training: a query in front as well, so that is_causal fits
        return given | {"query": F.pad(query, (0, 0, 1, 0)), "is_causal": True}
    seen = torch.ones(n, m, dtype=torch.bool, device=key.device).tril(m - n)
    return given | {"query": query, "attn_mask": F.pad(seen, (1, 0), value=True)}


def fused(query, key, value, sinks):
    output = F.scaled_dot_product_attention(**prepared(query, key, value, sinks))
    return output[:, :, -query.size(-2) :, :-1]  # b h n d


torch.manual_seed(0)
h, m, d = 4, 64, 32
query, key, value = torch.randn(3, 2, h, m, d).requires_grad_().unbind()  # b h m d
sinks = torch.randn(h, requires_grad=True)
formula = sink_attention(query, key, value, is_causal=True, sinks=sinks)
for n in (m, 5, 1):  # all at once; the last five, and the last one, with all keys in a cache
    ours = fused(query[:, :, -n:], key, value, sinks)
    print(torch.allclose(ours, formula[:, :, -n:], atol=1e-5))
#> True
#> True
#> True

grads = [
    torch.autograd.grad(output.square().sum(), sinks)[0]
    for output in (fused(query, key, value, sinks), formula)
]
print(torch.allclose(*grads, rtol=1e-3))
#> True

print(SDPBackend(_fused_sdp_choice(**prepared(query, key, value, sinks))).name)
#> FLASH_ATTENTION
