import math

import torch

from attn_docs.examples.practice.bugs_that_train import right
from attn_docs.exhibits.practice import scaled_twice, value_from_key

x = torch.randn(2, 5, 32)

bad, good = value_from_key.Attention(32, 4).eval(), right.Attention(32, 4).eval()
good.load_state_dict(bad.state_dict())
good.v_proj.load_state_dict(bad.k_proj.state_dict())
print(torch.allclose(good(x), bad(x), atol=1e-6))
#> True

bad = scaled_twice.Attention(32, 4).eval()
good.load_state_dict(bad.state_dict())
with torch.no_grad():
    good.q_proj.weight /= math.sqrt(8)
    good.q_proj.bias /= math.sqrt(8)
print(torch.allclose(good(x), bad(x), atol=1e-6))
#> True
