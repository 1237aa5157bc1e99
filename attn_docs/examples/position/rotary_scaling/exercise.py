import math

import torch

from attn_docs import YaRNScaling, rotary_frequencies


def frequencies(dim, theta, factor, length, beta_fast=32, beta_slow=1):
    """Return YaRN's frequencies: here still with a step where the ramp should be."""
    omega = theta ** -(torch.arange(0, dim, 2) / dim)  # dim/2
    turns = length * omega / (2 * math.pi)  # dim/2: within the trained length
    return torch.where(turns > (beta_fast * beta_slow) ** 0.5, omega, omega / factor)


def grade(written):
    for dim, theta, factor, length in ((64, 1e4, 40.0, 4096), (128, 5e5, 8.0, 8192)):
        wanted = rotary_frequencies(dim, theta, YaRNScaling(factor, length))[0]
        if not torch.allclose(written(dim, theta, factor, length), wanted, rtol=1e-4, atol=0):
            return "failed"
    return "passed"


print(grade(frequencies))
#> failed
