import torch
import torch.nn.functional as F

from attn_docs import padding_mask
from attn_docs.exhibits.foundations import (
    finite_fill,
    four_axis_mask,
    inverted_mask,
    mask_on_query_axis,
    zero_one_added,
)

torch.manual_seed(0)
query, key, value = (torch.randn(3, 4, 8, dtype=torch.float64) for _ in range(3))
is_word = padding_mask([3, 2, 0], max_len=4)  # b m: the third text is empty
right = F.scaled_dot_product_attention(query, key, value, is_word[:, None, :])

print("shape  ones stay ones  padding ignored  equals PyTorch")
#> shape  ones stay ones  padding ignored  equals PyTorch
for bug in (inverted_mask, zero_one_added, mask_on_query_axis, four_axis_mask, finite_fill):
    output = bug.attention(query, key, value, is_word)
    ones = bug.attention(query, key, torch.ones_like(value), is_word)
    other_padding = value.masked_fill(~is_word[:, :, None], 100.0)
    moved = bug.attention(query, key, other_padding, is_word)
    checks = (
        output.shape == right.shape,
        torch.allclose(ones, torch.ones_like(ones)),
        torch.allclose(moved, output),
        output.shape == right.shape and torch.allclose(output, right),
    )
    print(*("pass" if check else "FAIL" for check in checks), bug.__name__.rpartition(".")[2])
#> pass pass FAIL FAIL inverted_mask
#> pass pass FAIL FAIL zero_one_added
#> pass pass FAIL FAIL mask_on_query_axis
#> FAIL FAIL FAIL FAIL four_axis_mask
#> pass pass FAIL FAIL finite_fill
