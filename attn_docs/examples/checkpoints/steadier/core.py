"""TODO: the idea in 25 lines at most, shapes at their ends; last, compare with the package's."""

from attn_docs import steadier

print(steadier.__name__)
#> steadier
