import torch

from attn_docs.examples.practice.bugs_that_train import right
from attn_docs.exhibits.practice import causal_only_in_eval, value_from_key
from attn_docs.practice.bugs_that_train import train

for layer in (right, value_from_key, causal_only_in_eval):
    torch.manual_seed(0)
    attention = layer.Attention(32, 4)
    name = layer.__name__.rpartition(".")[2]
    print(f"{name}: shape {tuple(attention(torch.randn(2, 5, 32)).shape)}")
    losses = train(attention)
    print(f"  loss from {losses[0]:.1f} to {sum(losses[-10:]) / 10:.1f}")
#> right: shape (2, 5, 32)
#>   loss from 3.0 to 1.1
#> value_from_key: shape (2, 5, 32)
#>   loss from 3.1 to 1.2
#> causal_only_in_eval: shape (2, 5, 32)
#>   loss from 3.0 to 0.0
