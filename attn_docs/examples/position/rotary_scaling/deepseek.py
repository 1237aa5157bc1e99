# pip install transformers
import math

import torch
from transformers import DeepseekV3Config
from transformers.models.deepseek_v3 import modeling_deepseek_v3 as deepseek

from attn_docs import MultiHeadLatentAttention, RotaryEmbedding, YaRNScaling

torch.manual_seed(0)
rope = {"rope_type": "yarn", "rope_theta": 10000.0, "factor": 40.0, "beta_fast": 32, "beta_slow": 1}
rope |= {"mscale": 1.0, "mscale_all_dim": 1.0, "original_max_position_embeddings": 4096}
sizes = {"kv_lora_rank": 32, "q_lora_rank": None, "qk_nope_head_dim": 16, "qk_rope_head_dim": 8}
sizes |= {"hidden_size": 64, "num_attention_heads": 4, "num_key_value_heads": 4, "v_head_dim": 12}
sizes |= {"max_position_embeddings": 163840, "attn_implementation": "eager"}
config = DeepseekV3Config(**sizes, rope_parameters=rope)
theirs = deepseek.DeepseekV3Attention(config, layer_idx=0).requires_grad_(False)
weights = {name: 60 * w if "q_proj" in name else w for name, w in theirs.state_dict().items()}
theirs.load_state_dict(weights)

rule = YaRNScaling(40.0, 4096, mscale=1.0, mscale_all_dim=1.0)
sharper = 0.1 * 1.0 * math.log(40.0) + 1  # with mscale_all_dim = 1.0
x, positions = torch.randn(2, 9, 64), 3000 * torch.arange(9)
cos_sin = deepseek.DeepseekV3RotaryEmbedding(config)(x, positions[None])
mask = torch.full((9, 9), -torch.inf).triu(1).expand(2, 1, 9, 9)
right, _ = theirs(x, position_embeddings=cos_sin, attention_mask=mask)
names = {"kv_a_proj_with_mqa": "kv_a_proj", "kv_a_layernorm": "kv_a_norm", "o_proj": "out_proj"}
for factor in (1, sharper**2):
    ours = MultiHeadLatentAttention(
        64, 4, kv_rank=32, head_dim=16, rope_dim=8, value_dim=12,
        rotary=RotaryEmbedding(8, scaling=rule, interleaved=True),  # as DeepSeek's weights are
        scale=factor / math.sqrt(16 + 8),
    ).requires_grad_(False)  # fmt: skip
    ours.load_state_dict(
        {f"{names.get(n, n)}.weight": w for name, w in weights.items() for n in [name[:-7]]}
    )
    error = (ours(x, positions=positions, is_causal=True) - right).norm() / right.norm()
    print(f"scale times {factor:.4f}: differs by {error:.2f}")
#> scale times 1.0000: differs by 0.04
#> scale times 1.8739: differs by 0.00
