import torch

from attn_docs import attention_weights

torch.set_printoptions(precision=2)
# columns: determiner, noun, verb, alive
the, cat, sleeps = [1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 1.0], [0.0, 0.0, 1.0, 1.0]
x = torch.tensor([the, cat, sleeps])

print(x @ x.T)  # row: the word that asks, column: the word that answers
print(attention_weights(x, x))
