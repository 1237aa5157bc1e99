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
print(output)

print(tuple(SelfAttention(input_dim=6, output_dim=5)(torch.randn(2, 3, 6)).shape))
