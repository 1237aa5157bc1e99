import torch

from attn_docs import MaskedSelfAttention, causal_mask, padding_mask

x = torch.tensor([[1.0, 0, 0, 0], [0, 1, 0, 1], [0, 0, 1, 1]]).repeat(2, 1, 1)  # b n d
w_q = torch.tensor([[0.0, 2, 0, 0], [0, 0, 2, 0], [0, 2, 0, 2], [0, 0, 0, 0]])
w_v = torch.tensor([[0.0, 0, 0, 1], [1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0]])

attend = MaskedSelfAttention(input_dim=4, output_dim=4, dropout=0.1).eval()
attend.load_state_dict(
    {f"{name}_proj.bias": torch.zeros(4) for name in "qkv"}
    | {"q_proj.weight": w_q.T, "k_proj.weight": torch.eye(4), "v_proj.weight": w_v.T}
)
attend.requires_grad_(False)

print(attend(x)[0])  # no mask: the numbers of step 1
print(attend(x, causal_mask(3))[0])  # (n, n): one mask for all texts

padding = padding_mask([3, 2])[:, None]  # the second text has two words
print(tuple(padding.shape))
print(attend(x, padding)[1])
print(attend(x, padding & causal_mask(3))[1])
