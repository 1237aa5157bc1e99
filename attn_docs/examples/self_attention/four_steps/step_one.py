import torch

from attn_docs import SelfAttention

x = torch.tensor([[1.0, 0, 0, 0], [0, 1, 0, 1], [0, 0, 1, 1]])[None]  # b n input_dim
w_q = torch.tensor([[0.0, 2, 0, 0], [0, 0, 2, 0], [0, 2, 0, 2], [0, 0, 0, 0]])
w_v = torch.tensor([[0.0, 0, 0, 1], [1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0]])

attend = SelfAttention(input_dim=4, output_dim=4)
with torch.no_grad():
    for layer, matrix in (
        (attend.q_proj, w_q),
        (attend.k_proj, torch.eye(4)),
        (attend.v_proj, w_v),
    ):
        layer.weight.copy_(matrix.T)  # nn.Linear keeps its matrix as (out, in)
        layer.bias.zero_()
    output = attend(x)
print(tuple(output.shape))
#> (1, 3, 4)
print(output)
#> tensor([[[0.5761, 0.2119, 0.7881, 0.2119],
#>          [0.2119, 0.5761, 0.7881, 0.2119],
#>          [0.6652, 0.2447, 0.9100, 0.0900]]])

print(tuple(SelfAttention(input_dim=6, output_dim=5)(torch.randn(2, 3, 6)).shape))
#> (2, 3, 5)
