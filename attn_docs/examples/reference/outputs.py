import math

print(f"{math.sqrt(2):.4f}")
print([n * n for n in range(4)])
