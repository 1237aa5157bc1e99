# pip install transformers
import torch
from transformers import WhisperConfig
from transformers.models.whisper.modeling_whisper import WhisperAttention

from attn_docs import MultiHeadAttention

torch.manual_seed(0)
config = WhisperConfig(attn_implementation="sdpa")
theirs = WhisperAttention(embed_dim=16, num_heads=4, config=config)  # random weights
ours = MultiHeadAttention(embed_dim=16, num_heads=4)
missing = {"k_proj.bias": torch.zeros(16)}
ours.load_state_dict(theirs.state_dict() | missing)

x, sound = torch.randn(2, 3, 16), torch.randn(2, 7, 16)  # b n D, b m D
expected = theirs(x, key_value_states=sound)[0]
print(torch.allclose(ours(x, sound), expected, atol=1e-6))
#> True
print(torch.allclose(ours(x, ours.cache_context(sound)), expected, atol=1e-6))
#> True
