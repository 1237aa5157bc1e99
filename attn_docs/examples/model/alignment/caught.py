import torch

from attn_docs.exhibits.model import padding_looked_at, taught_ahead
from attn_docs.model.alignment import load_translator, to_indices


@torch.no_grad()
def sees_its_answer(model, source, target):  # b n, b m; logits b m vocab
    other = target.clone()
    other[:, -1] = target[:, -1] + 1  # another last token
    return not torch.allclose(model(source, target)[:, -1], model(source, other)[:, -1], atol=1e-4)


@torch.no_grad()
def sees_padding(model, source, target, padding=0):  # a line padded, and the same line alone
    alone = source[:1, source[0] != padding]  # 1, its own length
    return not torch.allclose(model(source, target)[:1], model(alone, target[:1]), atol=1e-4)


translator = load_translator()
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
