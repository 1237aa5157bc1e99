import math

from attn_docs import LinearScaling, NTKScaling, rotary_frequencies

rules = {"no rule": None, "linear": LinearScaling(4.0), "NTK": NTKScaling(4.0)}
for name, length in (("training", 100), ("no rule", 400), ("linear", 400), ("NTK", 400)):
    omega = rotary_frequencies(8, 10000.0, rules.get(name))[0].tolist()  # of four pairs
    turns = "  ".join(f"{w * length / (2 * math.pi):5.2f}" for w in omega)
    print(f"{name:8}  {length} tokens: {turns}   neighbours {math.degrees(omega[0]):.1f}°")
#> training  100 tokens: 15.92   1.59   0.16   0.02   neighbours 57.3°
#> no rule   400 tokens: 63.66   6.37   0.64   0.06   neighbours 57.3°
#> linear    400 tokens: 15.92   1.59   0.16   0.02   neighbours 14.3°
#> NTK       400 tokens: 63.66   4.01   0.25   0.02   neighbours 57.3°
