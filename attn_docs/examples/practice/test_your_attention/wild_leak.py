# pip install x-transformers==2.31.10
import torch
from x_transformers import Attention, Decoder

from attn_docs.testing import Adapter, check_module

layer = Attention(dim=2, dim_head=2, heads=1, causal=True, orthog_projected_values=True)
torch.nn.init.zeros_(layer.to_q.weight)
torch.nn.init.eye_(layer.to_v.weight)
for second in ([1.0, 0.0], [0.0, 1.0], [0.0, 3.0]):
    tokens = torch.tensor([[[1.0, 0.0], second]])
    first = [round(number, 2) for number in layer(tokens)[0, 0].tolist()]
    print(f"the second token is {second}, so the first gives {first}")
#> the second token is [1.0, 0.0], so the first gives [0.0, 0.0]
#> the second token is [0.0, 1.0], so the first gives [0.25, 0.0]
#> the second token is [0.0, 3.0], so the first gives [0.45, 0.0]

decoder = Decoder(dim=32, depth=1, heads=4, attn_dim_head=8, attn_orthog_projected_values=True)
no_mask = Adapter(attn_mask=None, is_causal=None, context=None)
report = check_module(decoder, embed_dim=32, causal=True, adapter=no_mask)
for finding in report.failures:
    print(f"{finding.property}: {finding.evidence}")
#> causality: in evaluation, length 2: position 0 depends on the later position 1, gradient 1.79e+01
#> prefix: the first 1 of 6 positions differ by 3.45e+00 when run alone
