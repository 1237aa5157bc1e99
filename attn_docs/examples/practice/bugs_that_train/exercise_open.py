import torch

from attn_docs.examples.practice.bugs_that_train import right
from attn_docs.exhibits.practice import softmax_over_queries

torch.manual_seed(0)
good, bad = right.Attention(32, 4).eval(), softmax_over_queries.Attention(32, 4).eval()
bad.load_state_dict(good.state_dict())
tokens = torch.randn(1, 40, 32)
for m in (1, 10, 40):
    context = tokens[:, :m]
    sizes = [layer(tokens[:, :1], context=context).norm().item() for layer in (good, bad)]
    print(f"{m} keys, one query: right {sizes[0]:.1f}, wrong {sizes[1]:.1f}")
#> 1 keys, one query: right 1.3, wrong 1.3
#> 10 keys, one query: right 0.8, wrong 6.7
#> 40 keys, one query: right 0.7, wrong 21.1
