from attn_docs.examples.practice.test_your_attention.layer import Attention
from attn_docs.testing import check_module

report = check_module(Attention(), embed_dim=32)
print(report.headline)
#> Attention: failed; formula: judged; 3 fail, 14 pass, 17 not applicable
for finding in report.failures:
    print(f"{finding.property}: {finding.evidence.partition(': ')[0]}")
#> oracle: the heads of one position attend to each other
#> attends: output 0 does not depend on token 1, as for 30 of 30 pairs
#> head layout: the heads of one position attend to each other
print("fix:", report.failures[0].cause.partition(": ")[2])
#> fix: transpose heads and length first
