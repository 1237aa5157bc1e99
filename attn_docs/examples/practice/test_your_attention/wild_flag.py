# pip install x-transformers==2.31.10
import torch
from x_transformers import Attention

from attn_docs.testing import check_module

tokens = torch.tensor([[[0.0, 0.0], [2.0, 4.0]]])
for flash in (False, True):
    layer = Attention(dim=2, dim_head=2, heads=1, flash=flash)
    torch.nn.init.zeros_(layer.to_q.weight)  # all scores are 0: each key counts the same
    torch.nn.init.eye_(layer.to_v.weight)  # a value is its token
    print(f"flash={flash}: the first token gives {layer(tokens, causal=True)[0, 0].tolist()}")
#> flash=False: the first token gives [0.0, 0.0]
#> flash=True: the first token gives [1.0, 2.0]

report = check_module(Attention(dim=32, heads=4, flash=True), embed_dim=32)
for finding in report.failures:
    print(f"{finding.property}: {finding.evidence}\n    {finding.cause}")
#> causality: in evaluation, length 2: position 0 depends on the later position 1, gradient 4.03e+01
#>     the causal mask is not applied (in evaluation)
#> prefix: the first 1 of 6 positions differ by 5.27e+00 when run alone
#>     later positions change earlier ones: see causality
