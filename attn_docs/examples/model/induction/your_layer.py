import torch
import torch.nn.functional as F

from attn_docs.model.induction import EXAMINED, repeated_tokens, train

right = F.scaled_dot_product_attention


def no_scale(query, key, value, *arguments, **options):
    return right(query, key, value, *arguments, **options | {"scale": 1.0})


def no_mask(query, key, value, *_, **__):
    return right(query, key, value)


tokens, repeated = repeated_tokens(256, torch.Generator().manual_seed(EXAMINED))
found = {}
for name, attend in {"right": right, "no 1/√d": no_scale, "no mask": no_mask}.items():
    model = train(layers=2, steps=300, attend=attend)  # put your own here
    with torch.no_grad():
        hits = (model(tokens[:, :-1]).argmax(-1) == tokens[:, 1:]).float()  # b n
    found[name] = hits[repeated].mean().item(), hits[~repeated].mean().item()
    chance = found[name][1] < 0.1
    print(f"{name:8} repetitions {found[name][0]:.1f}, first copy near chance: {chance}")
#> right    repetitions 0.9, first copy near chance: True
#> no 1/√d  repetitions 0.2, first copy near chance: True
#> no mask  repetitions 1.0, first copy near chance: False
