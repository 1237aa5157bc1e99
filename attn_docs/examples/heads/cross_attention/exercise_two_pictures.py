import torch

from attn_docs import attention_weights

torch.manual_seed(0)
query = torch.randn(1, 2, 4)  # two tokens
key = torch.randn(1, 3, 4)  # three patches of a picture
twice = attention_weights(query, torch.cat([key, key], dim=1))  # the picture, two times
print(torch.allclose(twice[..., :3], attention_weights(query, key) / 2))
#> True
print(torch.allclose(twice[..., :3], twice[..., 3:]))
#> True
