# pip install transformers
import torch
from transformers.models.smollm3 import SmolLM3Config
from transformers.models.smollm3.modeling_smollm3 import SmolLM3Attention, SmolLM3RotaryEmbedding

from attn_docs import GroupedQueryAttention, RotaryEmbedding

torch.manual_seed(0)
torch.set_grad_enabled(False)
sizes = {"hidden_size": 64, "num_attention_heads": 4, "num_key_value_heads": 2}
config = SmolLM3Config(**sizes, num_hidden_layers=4, attn_implementation="eager")
print(config.no_rope_layers)  # 1: this layer rotates
#> [1, 1, 1, 0]
theta = config.rope_parameters["rope_theta"]

x = torch.randn(2, 7, 64)  # b n 64
cos_sin = SmolLM3RotaryEmbedding(config)(x, torch.arange(7)[None])
mask = torch.full((7, 7), -torch.inf).triu(1)[None, None]  # 1 1 n n
for layer, rotates in enumerate(config.no_rope_layers):
    theirs = SmolLM3Attention(config, layer)
    rotary = RotaryEmbedding(16, theta=theta) if rotates else None
    ours = GroupedQueryAttention(64, 4, 2, bias=False, rotary=rotary)
    ours.load_state_dict(
        {name.replace("o_proj", "out_proj"): w for name, w in theirs.state_dict().items()}
    )
    same = torch.allclose(ours(x, is_causal=True), theirs(x, cos_sin, mask)[0], atol=1e-6)
    print(f"layer {layer}, rotary {rotary is not None!s:5}: equal {same}")
#> layer 0, rotary True : equal True
#> layer 1, rotary True : equal True
#> layer 2, rotary True : equal True
#> layer 3, rotary False: equal True
