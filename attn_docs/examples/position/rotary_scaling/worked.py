import math

from attn_docs import LinearScaling, NTKScaling, rotary_frequencies

trained, longer = 100, 400  # tokens
for rule in (None, LinearScaling(4.0), NTKScaling(4.0)):
    omega = rotary_frequencies(8, 10000.0, rule)[0].tolist()  # of four pairs
    turns = [round(w * longer / (2 * math.pi), 2) for w in omega]
    print(turns, "neighbours:", round(math.degrees(omega[0]), 1), "degrees")
#> [63.66, 6.37, 0.64, 0.06] neighbours: 57.3 degrees
#> [15.92, 1.59, 0.16, 0.02] neighbours: 14.3 degrees
#> [63.66, 4.01, 0.25, 0.02] neighbours: 57.3 degrees
plain = rotary_frequencies(8, 10000.0)[0].tolist()
print([round(w * trained / (2 * math.pi), 2) for w in plain], "in training")
#> [15.92, 1.59, 0.16, 0.02] in training
