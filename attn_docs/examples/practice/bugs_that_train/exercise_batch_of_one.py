import torch

from attn_docs.examples.practice.bugs_that_train import right
from attn_docs.exhibits.practice import samples_mixed

good, bad = right.Attention(32, 4).eval(), samples_mixed.Attention(32, 4).eval()
bad.load_state_dict(good.state_dict())
for batch in (1, 2):
    x = torch.randn(batch, 5, 32)
    print(f"batch of {batch}: the same is {torch.allclose(good(x), bad(x), atol=1e-6)}")
#> batch of 1: the same is True
#> batch of 2: the same is False
