import torch

from attn_docs import attention_weights

torch.set_printoptions(sci_mode=False)

query = torch.tensor([[0.0, 1.0, 1.0]])
key = torch.tensor([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 2.0, 0.0]])  # scores 0, 1, 2

for scale in (0.0, 1.0, 10.0):
    print(scale, attention_weights(query, key, scale=scale))
#> 0.0 tensor([[0.3333, 0.3333, 0.3333]])
#> 1.0 tensor([[0.0900, 0.2447, 0.6652]])
#> 10.0 tensor([[0.0000, 0.0000, 1.0000]])
