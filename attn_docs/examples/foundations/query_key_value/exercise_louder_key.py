import torch

from attn_docs import attention_weights

query = torch.tensor([[0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [0.0, 1.0, 1.0]])
key = torch.eye(3)
key[1] *= 2  # "cat" answers twice as loudly

print(attention_weights(query, key))
#> tensor([[0.1933, 0.6134, 0.1933],
#>         [0.2645, 0.2645, 0.4711],
#>         [0.1679, 0.5329, 0.2992]])
