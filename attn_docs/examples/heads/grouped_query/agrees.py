import torch
from torch import nn

from attn_docs import GroupedQueryAttention

torch.manual_seed(0)
heads, kv_heads, size = 6, 3, 4
ours = GroupedQueryAttention(24, heads, kv_heads, bias=False).double()
torchs = nn.MultiheadAttention(24, heads, bias=False, batch_first=True).double()


def repeat_rows(weight):  # a key head's rows, once for each query head of its group
    rows = weight.view(kv_heads, 1, size, 24).expand(-1, heads // kv_heads, -1, -1)
    return rows.reshape(heads * size, 24)


with torch.no_grad():
    key, value = (repeat_rows(layer.weight) for layer in (ours.k_proj, ours.v_proj))
    torchs.in_proj_weight.copy_(torch.cat((ours.q_proj.weight, key, value)))
    torchs.out_proj.weight.copy_(ours.out_proj.weight)

x = torch.randn(2, 5, 24, dtype=torch.float64)
wanted = torchs(x, x, x, need_weights=False)[0]
print(torch.allclose(ours(x), wanted, rtol=0, atol=1e-12))
#> True
