import torch

from attn_docs.examples.practice.bugs_that_train import right
from attn_docs.exhibits.practice import causal_from_the_first_key

good, bad = right.Attention(32, 4).eval(), causal_from_the_first_key.Attention(32, 4).eval()
bad.load_state_dict(good.state_dict())
words = torch.randn(1, 5, 32)
for name, layer in (("right", good), ("wrong", bad)):
    whole = layer(words, is_causal=True)
    last = layer(words[:, 4:], is_causal=True, context=words)
    print(f"{name}: the last word alone is {torch.allclose(last, whole[:, 4:], atol=1e-6)}")
#> right: the last word alone is True
#> wrong: the last word alone is False
