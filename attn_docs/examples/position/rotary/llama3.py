# pip install transformers
import math

import torch
from transformers import LlamaConfig
from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS

scaling = {"factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0}
scaling["original_max_position_embeddings"] = 8192

omega = 500000.0 ** -(torch.arange(0, 128, 2) / 128)  # d/2: as Llama 3 was trained
wave = 2 * math.pi / omega  # tokens for a full turn
slowed = omega / 8
mixed = ((8192 / wave - 1) / (4 - 1)).clamp(0, 1)  # 1 below 2,048 tokens, 0 above 8,192
rescaled = mixed * omega + (1 - mixed) * slowed  # d/2: Llama 3.1

settings = {"rope_type": "llama3", "rope_theta": 500000.0} | scaling
config = LlamaConfig(head_dim=128, max_position_embeddings=131072, rope_parameters=settings)
theirs, _ = ROPE_INIT_FUNCTIONS["llama3"](config)
print(torch.allclose(rescaled, theirs))
#> True
kept, slow = (rescaled == omega).sum().item(), (rescaled == slowed).sum().item()
print(f"as before: {kept} pairs, eight times slower: {slow}, between: {64 - kept - slow}")
#> as before: 29 pairs, eight times slower: 29, between: 6
