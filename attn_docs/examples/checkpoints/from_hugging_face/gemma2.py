# pip install transformers
from functools import partial

import torch
from transformers import Gemma2Config
from transformers.masking_utils import create_sliding_window_causal_mask
from transformers.models.gemma2.modeling_gemma2 import Gemma2Attention, Gemma2RotaryEmbedding

from attn_docs import GroupedQueryAttention, RotaryEmbedding, softcap_attention

torch.manual_seed(0)
torch.set_grad_enabled(False)
sizes = {"hidden_size": 42, "num_attention_heads": 6, "num_key_value_heads": 2, "head_dim": 8}
options = {"query_pre_attn_scalar": 9, "attn_logit_softcapping": 50.0, "sliding_window": 16}
config = Gemma2Config(**sizes, **options, attn_implementation="eager")
theirs = Gemma2Attention(config, layer_idx=0)
print(config.layer_types[:4])
#> ['sliding_attention', 'full_attention', 'sliding_attention', 'full_attention']
for weight in theirs.parameters():
    torch.nn.init.normal_(weight, std=0.3)
x, positions = torch.randn(2, 60, 42), torch.arange(60)
cos_sin = Gemma2RotaryEmbedding(config)(x, positions[None])
mask = create_sliding_window_causal_mask(config, x, attention_mask=None, past_key_values=None)

rotary, capped = RotaryEmbedding(8), partial(softcap_attention, softcap=50.0)
parts = {"scale": 9**-0.5, "window": 16, "attend": capped, "rotary": rotary}
ours = GroupedQueryAttention(42, 6, 2, head_dim=8, bias=False, **parts)
state = {name.replace("o_proj", "out_proj"): w for name, w in theirs.state_dict().items()}
ours.load_state_dict(state)
for size in (1, 10):  # the larger the scores, the more the cap does
    right, _ = theirs(size * x, cos_sin, mask)
    found = ours(size * x, is_causal=True)
    print(((found - right).abs().max() / right.abs().max()).item() < 1e-5)
#> True
#> True
