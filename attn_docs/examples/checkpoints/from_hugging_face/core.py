import torch
import torch.nn.functional as F

torch.manual_seed(0)
config = {"num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 128, "rope_theta": 5e5}
rows = {"q": 4 * 128, "k": 2 * 128, "v": 2 * 128}  # heads · head_dim
state = {f"{name}_proj.weight": 0.3 * torch.randn(rows[name], 42) for name in "qkv"}
state["o_proj.weight"] = 0.3 * torch.randn(42, 4 * 128)
x, positions, d = torch.randn(1, 60, 42), 500 * torch.arange(60), config["head_dim"]


def llama3(omega):
    q, k, v = (F.linear(x, state[f"{name}_proj.weight"]) for name in "qkv")  # b n h·d: weights
    q, k, v = (y.unflatten(-1, (-1, d)).transpose(1, 2) for y in (q, k, v))  # b h n d: config
    angles = torch.outer(positions, omega)  # n d/2: θ and the rule from the config, here no rule
    a, b = torch.cat((q, k), dim=1).chunk(2, dim=-1)  # halves are pairs: only the class says so
    rotated = (a * angles.cos() - b * angles.sin(), a * angles.sin() + b * angles.cos())
    q, k = torch.cat(rotated, dim=-1).split([4, 2], dim=1)  # b h n d, b g n d
    heads = F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)  # 1/√d
    return F.linear(heads.transpose(1, 2).flatten(2), state["o_proj.weight"])  # b n embed_dim


from attn_docs import GroupedQueryAttention, RotaryEmbedding

rotary = RotaryEmbedding(d, theta=config["rope_theta"])
ours = GroupedQueryAttention(42, 4, 2, head_dim=d, bias=False, rotary=rotary)
ours.load_state_dict({name.replace("o_proj", "out_proj"): w for name, w in state.items()})
right, steps = ours(x, is_causal=True, positions=positions), torch.arange(0, d, 2) / d
for omega in (1 / config["rope_theta"] ** steps, config["rope_theta"] ** -steps):
    found = llama3(omega)
    print(((found - right).abs().max() / right.abs().max()).item() < 1e-5)
#> True
#> False
