import torch
from torch import nn

from attn_docs import RotaryEmbedding
from attn_docs.exhibits.checkpoints import (
    cap_after_mask,
    norm_after_rotation,
    sink_renormalised,
    softcap_ignored,
)
from attn_docs.testing import check_attention

torch.manual_seed(0)
query, key, value = torch.randn(3, 1, 2, 6, 16).unbind()  # b h n d

report = check_attention(softcap_ignored.attention)
(options,) = (finding for finding in report.findings if finding.property == "options used")
print("options used:", options.verdict)
#> options used: fail


# a weight that a hidden key got is a weight that it has in the gradient
hidden = value.clone().requires_grad_()
output = cap_after_mask.attention(30 * query, 30 * key, hidden, softcap=1.0)  # b h n d
(grad,) = torch.autograd.grad(output[..., 0, :].sum(), hidden)
print("the first token sees the last:", bool((grad[..., -1, :] != 0).any()))
#> the first token sees the last: True

open_sink, full_sink = (
    sink_renormalised.attention(query, key, value, torch.full((2,), sink)) for sink in (-9.0, 9.0)
)
print("sinks of −9 and 9 give the same:", torch.allclose(open_sink, full_sink, atol=1e-5))
#> sinks of −9 and 9 give the same: True

norm, rotary = nn.RMSNorm(16, eps=1e-6), RotaryEmbedding(16)
nn.init.uniform_(norm.weight, 0.2, 3.0)  # as trained: no two gains alike
after = norm_after_rotation.attention(
    query, key, value, torch.arange(6), rotary, norm, norm
)
shifted = norm_after_rotation.attention(
    query, key, value, torch.arange(6) + 40, rotary, norm, norm
)
print("moved by 40 positions, it is another:", not torch.allclose(after, shifted, atol=1e-3))
#> moved by 40 positions, it is another: True
