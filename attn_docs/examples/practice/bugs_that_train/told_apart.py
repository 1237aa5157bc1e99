from attn_docs.examples.practice.bugs_that_train import right
from attn_docs.exhibits.practice import causal_only_in_eval, value_from_key
from attn_docs.testing import check_module

for layer in (right, value_from_key, causal_only_in_eval):
    report = check_module(layer.Attention(32, 4), embed_dim=32, causal=True)
    print(f"{layer.__name__.rpartition('.')[2]}: passed is {report.passed}")
    for finding in report.failures[:1]:
        print(f"  {finding.property}: {finding.cause}")
#> right: passed is True
#> value_from_key: passed is False
#>   oracle: the value is computed with the key projection, k_proj.weight
#> causal_only_in_eval: passed is False
#>   causality: the causal mask is not applied (in training)
