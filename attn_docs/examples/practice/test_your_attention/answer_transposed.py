from attn_docs.examples.practice.test_your_attention.exercise_transposed import Attention
from attn_docs.testing import check_module

report = check_module(Attention(), embed_dim=32)
print([finding.property for finding in report.failures])
#> ['mask axis']
waiting = ("padding", "empty rows", "packing")
print({f.property: f.verdict for f in report.findings if f.property in waiting})
#> {'padding': 'not applicable', 'empty rows': 'not applicable', 'packing': 'not applicable'}
