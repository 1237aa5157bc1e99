import torch

from attn_docs.exhibits.model import padding_looked_at, taught_ahead
from attn_docs.model.alignment import load_translator, to_indices


def same(a, b):
    return torch.allclose(a, b, atol=1e-4)


@torch.no_grad()
def sees_its_answer(model, source, target):  # b n, b m; logits b m vocab
    logits = model(source, target)
    assert same(logits, model(source, target)), "twice the same, other logits: call eval() first"
    for i in range(target.size(1)):
        other = target.clone()
        other[:, i] = (target[:, i] + 1) % logits.size(-1)  # another token i
        if not same(logits[:, : i + 1], model(source, other)[:, : i + 1]):
            return True
    return False


@torch.no_grad()
def sees_padding(model, source, target, padding=0):  # each padded line, and the same line alone
    logits, real = model(source, target), source != padding
    assert same(logits, model(source, target)), "twice the same, other logits: call eval() first"
    padded = [i for i, row in enumerate(real) if not row.all()]
    assert padded, "no line has padding"
    return not all(
        same(logits[i], model(source[i : i + 1, real[i]], target[i : i + 1])[0]) for i in padded
    )


translator = load_translator().eval()
source = to_indices(["23.9.87", "tea 23rd of september 1987"])  # b n
target = to_indices(["1987-09-23", "1987-09-23"])  # b 10
for name, model in {
    "right": lambda source, target: translator(source, target)[0],
    "taught ahead": lambda *given: taught_ahead.teach(translator, *given),
    "padding looked at": lambda *given: padding_looked_at.teach(translator, *given),
}.items():
    found = sees_its_answer(model, source, target), sees_padding(model, source, target)
    print(f"{name}: sees its answer {found[0]}, sees padding {found[1]}")
#> right: sees its answer False, sees padding False
#> taught ahead: sees its answer True, sees padding False
#> padding looked at: sees its answer False, sees padding True
