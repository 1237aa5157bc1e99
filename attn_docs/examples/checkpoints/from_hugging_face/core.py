import torch
import torch.nn.functional as F

torch.manual_seed(0)
config = {"num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 8, "rope_theta": 5e5}
rows = {"q": 32, "k": 16, "v": 16}  # heads · head_dim
state = {f"{name}_proj.weight": torch.randn(rows[name], 24) for name in "qkv"}
state["o_proj.weight"] = torch.randn(24, 32)
x, d = torch.randn(1, 9, 24), config["head_dim"]

q, k, v = (F.linear(x, state[f"{name}_proj.weight"]) for name in "qkv")  # b n h·d: the weights
q, k, v = (y.unflatten(-1, (-1, d)).transpose(1, 2) for y in (q, k, v))  # b h n d: d from config
omega = config["rope_theta"] ** -(torch.arange(0, d, 2) / d)  # d/2: theta from config, no rule
angles = torch.outer(torch.arange(9), omega)  # n d/2
a, b = torch.cat((q, k), dim=1).chunk(2, dim=-1)  # halves are pairs: the class alone says so
rotated = (a * angles.cos() - b * angles.sin(), a * angles.sin() + b * angles.cos())
q, k = torch.cat(rotated, dim=-1).split([4, 2], dim=1)  # b h n d, b g n d
heads = F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)  # 1/√d: the class
output = F.linear(heads.transpose(1, 2).flatten(2), state["o_proj.weight"])  # b n embed_dim

from attn_docs import GroupedQueryAttention, RotaryEmbedding

ours = GroupedQueryAttention(24, 4, 2, head_dim=8, bias=False, rotary=RotaryEmbedding(8, theta=5e5))
ours.load_state_dict({name.replace("o_proj", "out_proj"): w for name, w in state.items()})
print(torch.allclose(ours(x, is_causal=True), output, rtol=1e-4, atol=1e-3))
#> True
