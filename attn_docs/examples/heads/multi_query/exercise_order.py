import torch

from attn_docs import MultiQueryAttention

torch.manual_seed(0)
attend = MultiQueryAttention(embed_dim=12, num_heads=3, bias=False)
other = MultiQueryAttention(embed_dim=12, num_heads=3, bias=False)
other.load_state_dict(attend.state_dict())
rows = torch.tensor([8, 9, 10, 11, 4, 5, 6, 7, 0, 1, 2, 3])  # heads 0 and 2 change places
with torch.no_grad():
    other.q_proj.weight.copy_(attend.q_proj.weight[rows])
    other.out_proj.weight.copy_(attend.out_proj.weight[:, rows])

x = torch.randn(2, 5, 12)
print(torch.allclose(other(x), attend(x), atol=1e-6))
#> True
