import torch
from torch.nn.attention.flex_attention import create_mask

from attn_docs import causal_mask, padding_mask

lengths = torch.tensor([3, 2])


def mask_mod(batch, _head, query, key):
    return (key <= query) & (key < lengths[batch])  # True: may attend


flex = create_mask(mask_mod, B=2, H=None, Q_LEN=3, KV_LEN=3, device="cpu")
print(flex[1].int())
#> tensor([[[1, 0, 0],
#>          [1, 1, 0],
#>          [1, 1, 0]]], dtype=torch.int32)

ours = causal_mask(3) & padding_mask(lengths)[:, None, None, :]
print(torch.equal(flex, ours))
#> True
