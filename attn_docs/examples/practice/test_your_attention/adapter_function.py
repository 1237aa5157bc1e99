import torch
from torch import nn

from attn_docs.testing import check_module

layer = nn.TransformerEncoderLayer(32, 4, dim_feedforward=64, batch_first=True)

def call(module, x, *, attn_mask=None, is_causal=False):
    n = x.size(1)
    mask = torch.ones(n, n, dtype=torch.bool) if attn_mask is None else attn_mask
    if is_causal:
        mask = mask & torch.ones(n, n, dtype=torch.bool).tril()
    return module(x, src_mask=~mask)  # PyTorch's layers: True blocks

report = check_module(layer, embed_dim=32, causal=True, adapter=call)
verdicts = {finding.property: finding.verdict for finding in report.findings}
print(report.passed)
#> True
for name in ("mask polarity", "causality", "padding", "scale"):
    print(f"{name}: {verdicts[name]}")
#> mask polarity: pass
#> causality: pass
#> padding: pass
#> scale: pass
