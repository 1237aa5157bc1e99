import torch

from attn_docs import attention_weights

query = torch.tensor([[0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [0.0, 1.0, 1.0]])
key = torch.eye(3)
key[1] *= 2  # "cat" answers twice as loudly

print(attention_weights(query, key))
