import torch

from attn_docs import sinusoidal
from attn_docs.exhibits.position import (
    cosine_half_a_step_off,
    cosine_of_the_sine,
    exponent_doubled,
    exponent_of_dimensions,
)

positions = torch.arange(1000).double()
right = sinusoidal(positions, 64)
tables = {
    "right": right,
    "exponent_of_dimensions": exponent_of_dimensions.table(positions, 64),
    "cosine_half_a_step_off": cosine_half_a_step_off.table(positions, 64),
    "cosine_of_the_sine": cosine_of_the_sine.table(positions, 64),
    "exponent_doubled": exponent_doubled.table(positions, 64),
}
for name, table in tables.items():
    lengths = table.norm(dim=-1)
    one_length = torch.allclose(lengths, torch.full_like(lengths, 32**0.5))
    three_on = (table[3:] * table[:-3]).sum(-1)  # position p with p + 3
    by_distance = torch.allclose(three_on, three_on[:1].expand_as(three_on))
    print(f"{name:23} {one_length!s:5} {by_distance!s:5} {torch.allclose(table, right)}")
#> right                   True  True  True
#> exponent_of_dimensions  False False False
#> cosine_half_a_step_off  False False False
#> cosine_of_the_sine      False False False
#> exponent_doubled        True  True  False
