import math

import torch

from attn_docs import YaRNScaling, rotary_frequencies


def frequencies(dim, theta, factor, length, beta_fast=32, beta_slow=1):
    """Return YaRN's frequencies."""
    omega = theta ** -(torch.arange(0, dim, 2) / dim)  # dim/2

    def pair(turns):  # the pair, not a whole number, that turns so often within the length
        return dim * math.log(length / (2 * math.pi * turns)) / (2 * math.log(theta))

    fast, slow = math.floor(pair(beta_fast)), math.ceil(pair(beta_slow))
    divided = ((torch.arange(dim // 2) - fast) / (slow - fast)).clamp(0, 1)  # dim/2
    return (1 - divided) * omega + divided * omega / factor


def grade(written):
    for dim, theta, factor, length in ((64, 1e4, 40.0, 4096), (128, 5e5, 8.0, 8192)):
        wanted = rotary_frequencies(dim, theta, YaRNScaling(factor, length))[0]
        if not torch.allclose(written(dim, theta, factor, length), wanted, rtol=1e-4, atol=0):
            return "failed"
    return "passed"


print(grade(frequencies))
#> passed
