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
#> tensor([[0.5761, 0.2119, 0.7881, 0.2119],
#>         [0.2119, 0.5761, 0.7881, 0.2119],
#>         [0.6652, 0.2447, 0.9100, 0.0900]])
print(attend(x, causal_mask(3))[0])  # (n, n): one mask for all texts
#> tensor([[0.0000, 0.0000, 0.0000, 1.0000],
#>         [0.5000, 0.0000, 0.5000, 0.5000],
#>         [0.6652, 0.2447, 0.9100, 0.0900]])

padding = padding_mask([3, 2])[:, None]  # the second text has two words
print(tuple(padding.shape))
#> (2, 1, 3)
print(attend(x, padding)[1])
#> tensor([[0.7311, 0.0000, 0.7311, 0.2689],
#>         [0.5000, 0.0000, 0.5000, 0.5000],
#>         [0.8808, 0.0000, 0.8808, 0.1192]])
print(attend(x, padding & causal_mask(3))[1])
#> tensor([[0.0000, 0.0000, 0.0000, 1.0000],
#>         [0.5000, 0.0000, 0.5000, 0.5000],
#>         [0.8808, 0.0000, 0.8808, 0.1192]])
