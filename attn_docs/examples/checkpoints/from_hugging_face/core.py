import torch
import torch.nn.functional as F

torch.manual_seed(0)
d, theta = 128, 5e5  # head_dim and rope_theta, as Llama 3's config.json has them
rows = {"q": 4 * d, "k": 2 * d, "v": 2 * d}  # 4 heads, 2 KV heads
state = {f"{name}_proj.weight": 0.3 * torch.randn(rows[name], 42) for name in "qkv"}
state["o_proj.weight"] = 0.3 * torch.randn(42, 4 * d)
x, positions = torch.randn(1, 60, 42), 500 * torch.arange(60)


def llama3(omega):
    q, k, v = (F.linear(x, state[f"{name}_proj.weight"]) for name in "qkv")  # weights
    q, k, v = (y.unflatten(-1, (-1, d)).transpose(1, 2) for y in (q, k, v))  # config
    angles = torch.outer(positions, omega)  # n d/2: θ from the config, here no rule
    a, b = torch.cat((q, k), dim=1).chunk(2, dim=-1)  # pairs are halves: the class
    cos, sin = angles.cos(), angles.sin()
    rotated = torch.cat((a * cos - b * sin, a * sin + b * cos), dim=-1)
    q, k = rotated.split([4, 2], dim=1)  # b h n d, b g n d
    heads = F.scaled_dot_product_attention(  # b h n d: scores over √d, the class
        q, k, v, is_causal=True, enable_gqa=True
    )
    return F.linear(heads.transpose(1, 2).flatten(2), state["o_proj.weight"])  # b n 42


from attn_docs import GroupedQueryAttention, RotaryEmbedding

rotary = RotaryEmbedding(d, theta=theta)
ours = GroupedQueryAttention(42, 4, 2, head_dim=d, bias=False, rotary=rotary)
ours.load_state_dict({name.replace("o_proj", "out_proj"): w for name, w in state.items()})
right, steps = ours(x, is_causal=True, positions=positions), torch.arange(0, d, 2) / d
for name, omega in {"1 / theta**s": 1 / theta**steps, "theta**-s": theta**-steps}.items():
    found = llama3(omega)
    print(name, ((found - right).abs().max() / right.abs().max()).item() < 1e-5)
#> 1 / theta**s True
#> theta**-s False
