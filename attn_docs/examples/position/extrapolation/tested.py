import torch

from attn_docs.position.extrapolation import recall_accuracy, recall_at, recall_tokens, told, train

chance = torch.Generator().manual_seed(0)
print(told(recall_tokens(1, chance).tokens[0]))  # to train on
#> mBcds......................mBcds
print(told(recall_at(1, chance, length=64, distance=(8, 8)).tokens[0]))  # near
#> ...................................................rCole...rCole
print(told(recall_at(1, chance, length=64, distance=(59, 59)).tokens[0]))  # start
#> lfazq......................................................lfazq

model = train("alibi", steps=100)  # a second; all 1,500 steps take ten
examples = recall_at(64, chance, length=64, distance=(6, 16))
print(0 <= recall_accuracy(model, examples) <= 1)
#> True
