import importlib

import torch

from attn_docs import MultiHeadLatentAttention

torch.manual_seed(0)
sizes = {"kv_rank": 8, "head_dim": 6, "rope_dim": 4, "value_dim": 5}
attend = MultiHeadLatentAttention(24, 3, **sizes)
torch.nn.init.uniform_(attend.kv_a_norm.weight, 0.5, 2)  # as after training
for layer in (attend.q_proj, attend.kv_a_proj):
    torch.nn.init.normal_(layer.weight)
x = torch.randn(2, 5, 24)
right = attend(x, is_causal=True)

names = "turned_keys turned_latent no_rotary half_split parts_swapped norm_missing"
names += " norm_over_rotary normed_twice scale_of_content scale_of_entry"
for name in names.split():
    exhibit = importlib.import_module(f"attn_docs.exhibits.heads.latent_{name}")
    wrong = exhibit.attention(attend, x)
    same = "equal" if torch.allclose(wrong, right, atol=1e-3) else "NOT equal"
    print(f"{name:16} shape {wrong.shape == right.shape}, {same}")
#> turned_keys      shape True, NOT equal
#> turned_latent    shape True, NOT equal
#> no_rotary        shape True, NOT equal
#> half_split       shape True, NOT equal
#> parts_swapped    shape True, NOT equal
#> norm_missing     shape True, NOT equal
#> norm_over_rotary shape True, NOT equal
#> normed_twice     shape True, NOT equal
#> scale_of_content shape True, NOT equal
#> scale_of_entry   shape True, NOT equal
