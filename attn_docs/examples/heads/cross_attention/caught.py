import torch
import torch.nn.functional as F

from attn_docs import CrossAttention, padding_mask
from attn_docs.exhibits.heads import (
    causal_on_memory,
    queries_from_context,
    targets_mask,
    values_from_target,
)

torch.manual_seed(0)
layer = CrossAttention(input_dim=8, context_dim=8, output_dim=8)
x, context = torch.randn(2, 4, 8), torch.randn(2, 4, 8)  # n = m: where bugs can hide
x_is_token, is_token = padding_mask([4, 2]), padding_mask([3, 4])
projected = layer.q_proj(x), layer.k_proj(context), layer.v_proj(context)
right = F.scaled_dot_product_attention(*projected, is_token[:, None])
other_padding = context.masked_fill(~is_token[:, :, None], 100.0)

print("shape  padding ignored  order ignored  equals PyTorch")
#> shape  padding ignored  order ignored  equals PyTorch
for bug in (targets_mask, causal_on_memory, queries_from_context, values_from_target):
    output = bug.attention(layer, x, context, x_is_token, is_token)
    padded = bug.attention(layer, x, other_padding, x_is_token, is_token)
    moved = bug.attention(layer, x, context.flip(1), x_is_token, is_token.flip(1))
    others = (padded, moved, right)
    checks = (output.shape == right.shape, *(torch.allclose(output, o, atol=1e-5) for o in others))
    print(*("pass" if check else "FAIL" for check in checks), bug.__name__.rpartition(".")[2])
#> pass FAIL FAIL FAIL targets_mask
#> pass pass FAIL FAIL causal_on_memory
#> pass FAIL FAIL FAIL queries_from_context
#> pass pass FAIL FAIL values_from_target
