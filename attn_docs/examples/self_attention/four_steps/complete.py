import torch

from attn_docs import ScaledDotProductSelfAttention, causal_mask

x = torch.tensor([[1.0, 0, 0, 0], [0, 1, 0, 1], [0, 0, 1, 1]])[None]  # b n d
w_q = torch.tensor([[0.0, 2, 0, 0], [0, 0, 2, 0], [0, 2, 0, 2], [0, 0, 0, 0]])
w_v = torch.tensor([[0.0, 0, 0, 1], [1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0]])
w_o = torch.tensor([[0.0, 1, 0, 0], [0, 0, 1, 0], [0, 1, 1, 1], [1, 0, 0, 0]])

attend = ScaledDotProductSelfAttention(embed_dim=4)
attend.load_state_dict(
    {
        "qkv_proj.weight": torch.cat([w_q, torch.eye(4), w_v], dim=-1).T,
        "qkv_proj.bias": torch.zeros(12),
        "out_proj.weight": w_o.T,
        "out_proj.bias": torch.zeros(4),
    }
)
attend.eval().requires_grad_(False)

print(tuple(attend(x).shape))
#> (1, 3, 4)
print(attend(x)[0])  # columns: determiner, noun, verb, alive
#> tensor([[0.2119, 1.3642, 1.0000, 0.7881],
#>         [0.2119, 1.0000, 1.3642, 0.7881],
#>         [0.0900, 1.5752, 1.1547, 0.9100]])
print(attend(x, causal_mask(3))[0])
#> tensor([[1.0000, 0.0000, 0.0000, 0.0000],
#>         [0.5000, 1.0000, 0.5000, 0.5000],
#>         [0.0900, 1.5752, 1.1547, 0.9100]])
