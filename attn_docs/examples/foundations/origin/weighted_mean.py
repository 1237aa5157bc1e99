import torch

from attn_docs.sentence import FEATURES, embeddings, labelled

states = embeddings()  # 5 8: the cat sleeps it dreams
weights = torch.tensor([[0.02, 0.40, 0.02, 0.54, 0.02]])  # chosen by hand
context = weights @ states  # 1 8

shown = ("noun", "verb", "pronoun", "animal")
print(labelled(context[:, [FEATURES.index(name) for name in shown]], ["context"], shown))
#>             noun     verb  pronoun   animal
#> context     0.40     0.04     0.54     0.40
