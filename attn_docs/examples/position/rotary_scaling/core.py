import math

import torch

D, theta, factor, length = 128, 500000.0, 8.0, 8192  # Llama 3.1
omega = theta ** -(torch.arange(0, D, 2).double() / D)  # D/2: radians per token
turns = length * omega / (2 * math.pi)  # D/2: within the trained length


def blend(kept):  # D/2: 1 where a pair is kept, 0 where it is divided
    return kept * omega + (1 - kept) * omega / factor  # D/2


def pair(beta):  # the number of the pair, seldom whole, that turns beta times
    return D * math.log(length / (2 * math.pi * beta)) / (2 * math.log(theta))


fast, slow = math.floor(pair(32)), math.ceil(pair(1))
llama3 = blend(((turns - 1) / (4 - 1)).clamp(0, 1))  # D/2
yarn = blend(1 - ((torch.arange(D // 2) - fast) / (slow - fast)).clamp(0, 1))  # D/2

from attn_docs import Llama3Scaling, YaRNScaling, rotary_frequencies

for found, rule in ((llama3, Llama3Scaling), (yarn, YaRNScaling)):
    wanted, _ = rotary_frequencies(D, theta, rule(factor, length))
    print(torch.allclose(found.float(), wanted, rtol=1e-5, atol=0))
#> True
#> True
