import torch

from attn_docs import KVCache
from attn_docs.exhibits.position import (
    added_from_zero,
    first_rows_taken,
    padding_counted,
    positions_wrapped,
)

torch.manual_seed(0)
table = torch.randn(10, 4)  # eight positions and OPT's two rows before them
found = first_rows_taken.look_up(table, torch.arange(8))
print("first_rows_taken: ", torch.equal(found, table[2:]))
#> first_rows_taken:  False

try:
    positions_wrapped.look_up(table, torch.tensor([9, 10]))
    print("positions_wrapped: no error at position 10 of 10")
except IndexError:
    print("positions_wrapped: refused")
#> positions_wrapped: no error at position 10 of 10

mask = torch.tensor([[1, 1, 1, 1], [0, 0, 1, 1]])
print("padding_counted:  ", padding_counted.positions_of(mask)[1].tolist(), "for", mask[1].tolist())
#> padding_counted:   [0, 1, 2, 3] for [0, 0, 1, 1]

cache = KVCache(1, 1, 4, capacity=4)
steps = []
for _ in range(3):
    steps += added_from_zero.positions_of(torch.zeros(1, 1), cache).tolist()
    cache.update(torch.zeros(1, 1, 1, 4), torch.zeros(1, 1, 1, 4))
print("added_from_zero:  ", steps)
#> added_from_zero:   [0, 0, 0]
