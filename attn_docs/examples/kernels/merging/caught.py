import math

import torch

from attn_docs import attention_with_lse
from attn_docs.exhibits.kernels import (
    merge_adds_lse,
    merge_averages,
    merge_base_two,
    merge_overflows,
    ring_local_causal,
)

torch.manual_seed(0)
x = torch.randn(12, 4)  # m d: twelve tokens are queries, keys and values
far = torch.cat([x[:6], 100 * x[6:]])  # of which the last six have scores in the hundreds


def judge(merge, keys, *more, units=(1.0, 1.0)):
    parts = [attention_with_lse(x, k, k) for k in keys.split(6)]
    lses = [lse / unit for (_, lse), unit in zip(parts, units, strict=True)]
    whole = attention_with_lse(x, keys, keys)[0]
    found = merge([output for output, _ in parts], lses, *more)[0]
    return "right" if torch.allclose(found, whole, atol=1e-4) else "wrong"


print("                   near   far")
#>                    near   far
for exhibit in (merge_averages, merge_adds_lse, merge_overflows):
    name = exhibit.__name__.split(".")[-1]
    print(f"{name:17}", judge(exhibit.merge, x), judge(exhibit.merge, far))
#> merge_averages    wrong wrong
#> merge_adds_lse    wrong wrong
#> merge_overflows   right wrong

units, bases = (math.log(2), 1.0), (2, math.e)  # the first part's logarithm is to base 2
verdicts = [judge(merge_base_two.merge, keys, bases, units=units) for keys in (x, far)]
print("merge_base_two   ", *verdicts)
#> merge_base_two    wrong right

parts, changed = x.split(3), (*x[:9].split(3), x[9:] + 1)  # the last rank's tokens change
before, after = (ring_local_causal.ring(parts, p, p)[0] for p in (parts, changed))
print("ring_local_causal lets rank 0 see the last tokens:", not before.equal(after))
#> ring_local_causal lets rank 0 see the last tokens: True
