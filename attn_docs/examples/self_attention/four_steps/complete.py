import torch
from torch.nn.functional import pad

from attn_docs import ScaledDotProductSelfAttention, causal_mask
from attn_docs.sentence import FEATURES, embeddings, labelled, projections

w_q, w_k, w_v = projections(sharpness=6.0)
w_qkv = torch.cat([pad(w, (0, 8 - w.size(1))) for w in (w_q, w_k, w_v)], dim=1)  # 8 24
state = {
    "qkv_proj.weight": w_qkv.T,
    "qkv_proj.bias": torch.zeros(24),
    "out_proj.weight": pad(w_v, (0, 4)),  # W_O = W_Vᵀ, and nn.Linear stores W_Oᵀ
    "out_proj.bias": torch.zeros(8),
}
attend = ScaledDotProductSelfAttention(embed_dim=8, scale=3**-0.5)
attend.load_state_dict(state)
attend.eval().requires_grad_(False)

x = embeddings()[None]  # b n D
output = attend(x, causal_mask(5))  # b n D
both = torch.stack([x[0, 3], (x + output)[0, 3]], dim=1)  # D 2: what "it" carries
print(labelled(both, FEATURES, ["before", "after"]))
#>             before   after
#> determiner    0.00    0.00
#> noun          0.00    0.00
#> verb          0.00    0.00
#> pronoun       1.00    1.00
#> definite      0.00    0.03
#> animal        0.00    0.91
#> asleep        0.00    0.03
#> dreaming      0.00    0.00
