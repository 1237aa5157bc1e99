# pip install transformers
import torch
from transformers import GptOssConfig
from transformers.masking_utils import create_sliding_window_causal_mask
from transformers.models.gpt_oss.modeling_gpt_oss import GptOssAttention, GptOssRotaryEmbedding

from attn_docs import GroupedQueryAttention, RotaryEmbedding, SinkAttention, YaRNScaling

torch.manual_seed(0)
torch.set_grad_enabled(False)
sizes = {"hidden_size": 42, "num_attention_heads": 6, "num_key_value_heads": 2, "head_dim": 8}
config = GptOssConfig(**sizes, sliding_window=16, attn_implementation="eager")
print({name: config.rope_parameters[name] for name in ("rope_type", "rope_theta", "truncate")})
#> {'rope_type': 'yarn', 'rope_theta': 150000.0, 'truncate': False}
theirs = GptOssAttention(config, layer_idx=0)
for weight in theirs.parameters():
    torch.nn.init.normal_(weight, std=0.3)  # the sinks' too: in a new layer they are not set
x, positions = torch.randn(2, 60, 42), torch.arange(60)
cos_sin = GptOssRotaryEmbedding(config)(x, positions[None])
mask = create_sliding_window_causal_mask(config, x, attention_mask=None, past_key_values=None)
right, _ = theirs(x, cos_sin, mask)

yarn = YaRNScaling(factor=32.0, original_length=4096, truncate=False)
rotary = RotaryEmbedding(8, theta=150000.0, scaling=yarn)
parts = {"window": 16, "attend": SinkAttention(6), "rotary": rotary}
ours = GroupedQueryAttention(42, 6, 2, head_dim=8, bias=True, **parts)
state = {name.replace("o_proj", "out_proj"): w for name, w in theirs.state_dict().items()}
state["attend.sinks"] = state.pop("sinks")
ours.load_state_dict(state)
found = ours(x, is_causal=True)
print(((found - right).abs().max() / right.abs().max()).item() < 1e-5)
#> True
