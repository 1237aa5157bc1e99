import math

import torch
import torch.nn.functional as F

from attn_docs.exhibits.kernels import (
    accumulator_not_rescaled,
    masked_block_of_nan,
    maximum_from_zero,
    maximum_of_all_rows,
    maximum_of_block,
)

torch.manual_seed(0)
block = 4  # of the function that is judged: the keys are two blocks of it
plain, value = torch.randn(2, 2 * block) / 2, torch.randn(2 * block, 2)  # n m, m e
later, last = torch.arange(2 * block) >= block, torch.tensor([[False], [True]])  # m, n 1
cases = {
    "the best key later": plain + 3.0 * later,
    "all scores far below": plain - 2e5,
    "a block 200 lower": plain - 200.0 * later,
    "a query 200 lower": plain - 200.0 * last,
}
masked = {"a first block all masked": plain.masked_fill(last & ~later, -math.inf)}


def fails(attend, cases):  # attend(query, key, value) or attend(query, key, value, attn_mask)
    found = []
    for name, scores in cases.items():
        seen = scores > -math.inf
        key = torch.eye(2 * block, 16)  # with 16, whose root is exact,
        query = 4 * F.pad(scores.masked_fill(~seen, 0), (0, 8))  # these two make the scores
        output = attend(query, key, value, *([] if seen.all() else [seen]))
        if not torch.allclose(output, scores.softmax(-1) @ value, atol=1e-5):  # NaN fails too
            found.append(name)
    return found


print("PyTorch", fails(F.scaled_dot_product_attention, cases | masked))
#> PyTorch []
for module in (accumulator_not_rescaled, maximum_from_zero, maximum_of_block, maximum_of_all_rows):
    print(module.__name__.rpartition(".")[2], fails(module.attention, cases))
#> accumulator_not_rescaled ['the best key later', 'all scores far below', 'a query 200 lower']
#> maximum_from_zero ['all scores far below', 'a query 200 lower']
#> maximum_of_block ['a block 200 lower']
#> maximum_of_all_rows ['a query 200 lower']
print("masked_block_of_nan", fails(masked_block_of_nan.attention, masked))
#> masked_block_of_nan ['a first block all masked']
