# pip install transformers
import math

import torch
from transformers import Phi3Config
from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS


def longrope(dim, theta, short, long, factor, trained, length):
    divisors = torch.tensor(long if length > trained else short)  # dim/2
    omega = 1.0 / (divisors * theta ** (torch.arange(0, dim, 2).float() / dim))  # dim/2
    return omega, math.sqrt(1 + math.log(factor) / math.log(trained))


short, long = [1.0, 1.05, 1.1, 1.3], [1.0, 1.8, 9.0, 32.0]  # invented: a model has its own
rope = {"rope_type": "longrope", "rope_theta": 10000.0, "short_factor": short, "long_factor": long}
rope |= {"original_max_position_embeddings": 4096, "factor": 32.0}
sizes = {"hidden_size": 16, "num_attention_heads": 2, "max_position_embeddings": 131072}
config = Phi3Config(**sizes, rope_parameters=rope)
for length in (4096, 4097):
    theirs, factor = ROPE_INIT_FUNCTIONS["longrope"](config, seq_len=length)
    ours = longrope(8, 10000.0, short, long, 32.0, 4096, length)
    print(length, torch.allclose(ours[0], theirs, rtol=1e-6, atol=0), ours[1] == factor)
#> 4096 True True
#> 4097 True True
