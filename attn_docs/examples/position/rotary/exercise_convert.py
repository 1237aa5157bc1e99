import torch

from attn_docs import GroupedQueryAttention, RotaryEmbedding, rotary_to_half_split

torch.manual_seed(0)
torch.set_grad_enabled(False)
sizes = {"embed_dim": 16, "num_heads": 4, "num_kv_heads": 2}
old = GroupedQueryAttention(**sizes, rotary=RotaryEmbedding(4, interleaved=True))
new = GroupedQueryAttention(**sizes, rotary=RotaryEmbedding(4))

state = old.state_dict()
for name, heads in (("q_proj", 4), ("k_proj", 2)):  # not v_proj: it is not turned
    for part in ("weight", "bias"):
        state[f"{name}.{part}"] = rotary_to_half_split(state[f"{name}.{part}"], heads)
x = torch.randn(2, 5, 16)
new.load_state_dict(old.state_dict())
print("as it was:", torch.allclose(new(x), old(x), atol=1e-6))
#> as it was: False
new.load_state_dict(state)
print("converted:", torch.allclose(new(x), old(x), atol=1e-6))
#> converted: True
