import math

print(f"{math.sqrt(2):.4f}")
#> 1.4142
print([n * n for n in range(4)])
#> [0, 1, 4, 9]
