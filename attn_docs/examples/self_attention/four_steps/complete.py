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
print(attend(x)[0])  # columns: determiner, noun, verb, alive
print(attend(x, causal_mask(3))[0])
