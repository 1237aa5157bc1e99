import torch
import torch.nn.functional as F


def attend(query, key, value):
    scores = query @ key.mT
    weights = torch.softmax(scores / scores.size(-1) ** 0.5, dim=-1)
    return weights @ value


torch.manual_seed(0)
x = torch.randn(64, 64)
print(torch.allclose(attend(x, x, x), F.scaled_dot_product_attention(x, x, x), atol=1e-6))
#> True
