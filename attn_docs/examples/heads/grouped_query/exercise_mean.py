import torch

from attn_docs import GroupedQueryAttention, MultiHeadAttention

torch.manual_seed(0)
x = torch.randn(2, 5, 24)
multi, grouped = MultiHeadAttention(24, 6), GroupedQueryAttention(24, 6, 3)


def convert():  # the mean of the rows of each group's heads
    state = multi.state_dict()
    for name in ("k_proj.weight", "k_proj.bias", "v_proj.weight", "v_proj.bias"):
        state[name] = state[name].unflatten(0, (3, 2, 4)).mean(1).flatten(0, 1)
    grouped.load_state_dict(state)
    return torch.allclose(grouped(x), multi(x), atol=1e-6)


print("any heads:  ", convert())
#> any heads:   False
with torch.no_grad():
    for parameter in (*multi.k_proj.parameters(), *multi.v_proj.parameters()):
        heads = parameter.unflatten(0, (3, 2, 4))
        heads[:, 1] = heads[:, 0]  # both heads of a group the same
print("equal heads:", convert())
#> equal heads: True
