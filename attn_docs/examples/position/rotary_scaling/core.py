import math

import torch

D, theta, factor, length = 128, 500000.0, 8.0, 8192  # Llama 3.1: 8192 tokens in training
omega = theta ** -(torch.arange(0, D, 2, dtype=torch.float64) / D)  # D/2: radians for a token
turns = length * omega / (2 * math.pi)  # D/2: how often a pair turns within the trained length


def blend(kept):  # D/2: 1 where a pair is kept, 0 where it is divided
    return kept * omega + (1 - kept) * omega / factor  # D/2


def pair(beta):  # the pair, not a whole number, that turns beta times
    return D * math.log(length / (2 * math.pi * beta)) / (2 * math.log(theta))


fast, slow = math.floor(pair(32)), math.ceil(pair(1))
llama3 = blend(((turns - 1) / (4 - 1)).clamp(0, 1))  # D/2
yarn = blend(1 - ((torch.arange(D // 2) - fast) / (slow - fast)).clamp(0, 1))  # D/2

from attn_docs import Llama3Scaling, YaRNScaling, rotary_frequencies

for found, rule in ((llama3, Llama3Scaling(factor, length)), (yarn, YaRNScaling(factor, length))):
    print(torch.allclose(found.float(), rotary_frequencies(D, theta, rule)[0], rtol=1e-5, atol=0))
#> True
#> True
