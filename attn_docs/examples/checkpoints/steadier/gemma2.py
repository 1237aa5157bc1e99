# pip install transformers
import functools

import torch
from transformers import Gemma2Config
from transformers.models.gemma2.modeling_gemma2 import Gemma2Attention

from attn_docs import GroupedQueryAttention, RotaryEmbedding, softcap_attention

torch.manual_seed(0)
sizes = {"hidden_size": 64, "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 16}
config = Gemma2Config(**sizes, query_pre_attn_scalar=18, attn_implementation="eager")
theirs = Gemma2Attention(config, layer_idx=1).requires_grad_(False)
weights = {name: 30 * weight for name, weight in theirs.state_dict().items()}
theirs.load_state_dict(weights)  # random, but with scores beyond the cap


def ours(**options):
    layer = GroupedQueryAttention(
        64, 4, 2, head_dim=16, bias=False, rotary=RotaryEmbedding(16), **options
    )
    layer.load_state_dict({k.replace("o_proj", "out_proj"): w for k, w in weights.items()})
    return layer.requires_grad_(False)


x, n = torch.randn(1, 9, 64), 9
angles = torch.arange(n)[:, None] * 10000.0 ** (-torch.arange(0, 16, 2) / 16)  # n d/2
angles = torch.cat([angles, angles], dim=-1)[None]  # 1 n d
mask = torch.full((n, n), float("-inf")).triu(1)[None, None]  # 1 1 n n
right, _ = theirs(x, position_embeddings=(angles.cos(), angles.sin()), attention_mask=mask)

attend = functools.partial(softcap_attention, softcap=config.attn_logit_softcapping)
for told, options in {
    "scale and cap": {"scale": 18**-0.5, "attend": attend},
    "no cap": {"scale": 18**-0.5},
    "no scale": {"attend": attend},
}.items():
    found = ours(**options)(x, is_causal=True)
    print(f"{told}: off by {((found - right).norm() / right.norm()).item():.2f}")
#> scale and cap: off by 0.00
#> no cap: off by 0.79
#> no scale: off by 0.02
