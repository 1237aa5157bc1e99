import torch
import torch.nn.functional as F

query = torch.tensor([[2.0, 2.0]])
key = torch.tensor([[1.0, 1.0], [6.0, 1.0]])  # same direction as the query; longer, but askew

print("dot   ", query @ key.T)
#>
print("cosine", F.cosine_similarity(query, key))
#>

shorter = key / key.norm(dim=-1, keepdim=True)  # same directions, length 1
print("dot   ", query @ shorter.T)
#>
