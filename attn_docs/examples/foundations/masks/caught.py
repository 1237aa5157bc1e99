import torch

from attn_docs import padding_mask
from attn_docs.exhibits.foundations import (
    finite_fill,
    four_axis_mask,
    inverted_mask,
    mask_on_query_axis,
    zero_one_added,
)

torch.manual_seed(0)
query, key, value = (torch.randn(3, 4, 8, dtype=torch.float64) for _ in range(3))  # b n d
is_word = padding_mask([3, 2, 0], max_len=4)  # b m: the third text is empty
ones, garbage = torch.ones_like(value), value.masked_fill(~is_word[:, :, None], 100.0)

print("rows sum to 1  padding is ignored")
#> rows sum to 1  padding is ignored
for bug in (inverted_mask, zero_one_added, mask_on_query_axis, four_axis_mask, finite_fill):
    sums = bug.attention(query, key, ones, is_word)
    before, after = (bug.attention(query, key, v, is_word) for v in (value, garbage))
    checks = torch.allclose(sums, torch.ones_like(sums)), torch.allclose(before, after)
    print(*("pass" if check else "FAIL" for check in checks), bug.__name__.rpartition(".")[2])
#> pass FAIL inverted_mask
#> pass FAIL zero_one_added
#> pass FAIL mask_on_query_axis
#> FAIL FAIL four_axis_mask
#> pass FAIL finite_fill
