import torch
import torch.nn.functional as F

from attn_docs.model.induction import EXAMINED, repeated_tokens, train

right = F.scaled_dot_product_attention


def scaled(scale):
    return lambda *arrays, **options: right(*arrays, **options | {"scale": scale})


def no_mask(query, key, value, *_, **__):
    return right(query, key, value)


def over_queries(query, key, value, *_, **__):
    scores = query @ key.mT / query.shape[-1] ** 0.5
    later = torch.ones_like(scores[0, 0], dtype=torch.bool).triu(1)
    return scores.masked_fill(later, -1e9).softmax(-2) @ value


tokens, repeated = repeated_tokens(2048, torch.Generator().manual_seed(EXAMINED))
found = {}
tried = {"right": right, "no 1/√d": scaled(1.0), "1/d": scaled(1 / 64)}
tried |= {"no mask": no_mask, "queries": over_queries}
for name, attend in tried.items():
    model = train(layers=2, steps=300, attend=attend)  # or fit(your_model, steps=300)
    with torch.no_grad():
        hits = (model(tokens[:, :-1]).argmax(-1) == tokens[:, 1:]).float()  # b n
    new = hits[:, :-1][~repeated[:, 1:]]  # the next place is no repetition: its token is new
    found[name] = hits[repeated].mean().item(), new.mean().item()
    print(f"{name:8} repetitions {found[name][0]:.1f}, drawn anew {found[name][1]:.2f}")
#> right    repetitions 0.9, drawn anew 0.03
#> no 1/√d  repetitions 0.2, drawn anew 0.03
#> 1/d      repetitions 0.9, drawn anew 0.03
#> no mask  repetitions 1.0, drawn anew 1.00
#> queries  repetitions 1.0, drawn anew 0.04
