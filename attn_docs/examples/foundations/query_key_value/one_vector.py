import torch

from attn_docs import attention_weights

torch.set_printoptions(precision=2)
the, cat, sleeps = [1.0, 0.0, 0.0], [0.0, 2.0, 0.0], [0.0, 1.0, 2.0]
x = torch.tensor([the, cat, sleeps])

print(x @ x.T)  # one vector in all three roles
print(attention_weights(x, x))
