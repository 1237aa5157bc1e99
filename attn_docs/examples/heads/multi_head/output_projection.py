import torch

from attn_docs import MultiHeadAttention

torch.manual_seed(0)
x = torch.randn(1, 5, 12)
layer = MultiHeadAttention(embed_dim=12, num_heads=3, bias=False)
other = MultiHeadAttention(embed_dim=12, num_heads=3, bias=False)
other.load_state_dict(layer.state_dict())
with torch.no_grad():
    other.v_proj.weight[:4] += 1  # head 1 of the copy has another value matrix


def changed():
    """Which of the 12 output elements of a token does head 1 reach?"""
    return (layer(x) - other(x)).abs().amax(dim=(0, 1)) > 1e-6


print(changed().int().tolist())
#> [1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1]
with torch.no_grad():
    for module in (layer, other):
        module.out_proj.weight.copy_(torch.eye(12))
print(changed().int().tolist())  # W^O = identity: the heads stay apart
#> [1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0]
