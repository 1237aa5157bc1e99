from torch import nn

from attn_docs.testing import check_module

report = check_module(nn.MultiheadAttention(64, num_heads=4), embed_dim=64)
print(report.headline)
#> MultiheadAttention: passed; formula: judged; 26 pass, 8 not applicable
