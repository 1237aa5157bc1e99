import math

from attn_docs import rotary_frequencies

frequencies, _ = rotary_frequencies(64, 10000.0)  # of the shipped model's only head
turns = 32 * frequencies / (2 * math.pi)
print((turns >= 1).sum().item(), "of", len(turns))
#> 6 of 32
