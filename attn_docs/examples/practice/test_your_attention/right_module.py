from attn_docs.examples.practice.test_your_attention import layer
from attn_docs.testing import check_module


class Attention(layer.Attention):
    def forward(self, x):
        q, k, v = (f(x).unflatten(-1, (self.heads, -1)) for f in (self.q, self.k, self.v))
        q, k, v = (t.transpose(1, 2) for t in (q, k, v))  # missing above
        weights = (q @ k.mT / q.size(-1) ** 0.5).softmax(-1)
        return self.out((weights @ v).transpose(1, 2).flatten(2))  # and back

report = check_module(Attention(), embed_dim=32)
print(report.headline)
#> Attention: passed; formula: judged; 17 pass, 17 not applicable
for finding in report.findings:
    if finding.property in ("oracle", "scale", "equal words", "causality", "padding"):
        print(f"{finding.verdict:14} {finding.property:11} {finding.evidence}")
#> pass           oracle      reproduced with 4 heads of 8
#> pass           scale       scores are divided by 2.828
#> pass           equal words 2 and 6 equal tokens give what one gives, as weights of sum 1 do
#> not applicable causality   not said to be causal
#> not applicable padding     it takes no mask
