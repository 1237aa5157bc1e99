"""TODO: the idea in 25 lines at most, shapes at their ends."""

print("none")
#> none
