import torch

from attn_docs.sentence import FEATURES, embeddings

x = embeddings()[3]  # "it"
brought = torch.zeros(8)
brought[FEATURES.index("animal")] = 0.87  # by attention
reads = torch.zeros(8)
reads[[FEATURES.index("pronoun"), FEATURES.index("animal")]] = 10.0

for name, seen in (("one after the other", x + brought), ("side by side", x)):
    neuron = torch.nn.functional.gelu(seen @ reads - 15)
    print(f"{name}: the neuron gives {neuron:.2f}")
#> one after the other: the neuron gives 3.70
#> side by side: the neuron gives -0.00
