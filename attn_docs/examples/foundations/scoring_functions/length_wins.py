import torch
import torch.nn.functional as F

query = torch.tensor([[2.0, 2.0]])
key = torch.tensor([[1.0, 1.0], [6.0, 1.0]])  # same direction; longer, but askew

print("dot   ", query @ key.T)
#> dot    tensor([[ 4., 14.]])
print("cosine", F.cosine_similarity(query, key))
#> cosine tensor([1.0000, 0.8137])

shorter = key / key.norm(dim=-1, keepdim=True)  # same directions, length 1
print("dot   ", query @ shorter.T)
#> dot    tensor([[2.8284, 2.3016]])
