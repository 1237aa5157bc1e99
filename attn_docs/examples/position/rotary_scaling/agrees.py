# pip install transformers
import torch
from transformers import LlamaConfig
from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS

from attn_docs import (
    DynamicScaling,
    LinearScaling,
    Llama3Scaling,
    ProportionalScaling,
    YaRNScaling,
    rotary_frequencies,
)

trained = {"original_max_position_embeddings": 16384}
llama3 = trained | {"factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0}
cases = {
    "linear": ({"factor": 8.0}, LinearScaling(8.0)),
    "dynamic": ({"factor": 8.0}, DynamicScaling(8.0, 131072)),
    "yarn": (trained | {"factor": 8.0}, YaRNScaling(8.0, 16384)),
    "llama3": (llama3, Llama3Scaling(8.0, 16384)),
    "proportional": ({"partial_rotary_factor": 0.25}, ProportionalScaling(0.25)),
}
for kind, (settings, rule) in cases.items():
    rope = {"rope_type": kind, "rope_theta": 500000.0} | settings
    config = LlamaConfig(head_dim=128, max_position_embeddings=131072, rope_parameters=rope)
    theirs, their_factor = ROPE_INIT_FUNCTIONS[kind](config, seq_len=200000)
    ours, factor = rotary_frequencies(128, 500000.0, rule, length=200000)
    print(f"{kind:12} {torch.allclose(ours, theirs, rtol=1e-6, atol=0)} {factor == their_factor}")
#> linear       True True
#> dynamic      True True
#> yarn         True True
#> llama3       True True
#> proportional True True
