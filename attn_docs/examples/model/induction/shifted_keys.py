import torch
import torch.nn.functional as F

from attn_docs.model.induction import EXAMINED, repeat_accuracy, repeated_tokens, train


def attend(query, key, value, *arguments, **options):  # b h n d: keys of the token before
    key = torch.cat([key[..., :1, :], key[..., :-1, :]], dim=-2)
    return F.scaled_dot_product_attention(query, key, value, *arguments, **options)


examples = repeated_tokens(256, torch.Generator().manual_seed(EXAMINED))
reached = {}
for name, function in (("own keys", F.scaled_dot_product_attention), ("shifted keys", attend)):
    model = train(layers=1, steps=200, attend=function)
    reached[name] = repeat_accuracy(model, examples)
    print(f"one layer, {name}: {reached[name]:.1f}")
#> one layer, own keys: 0.3
#> one layer, shifted keys: 0.9
