import torch
import torch.nn.functional as F

from attn_docs import ScaledDotProductSelfAttention, causal_mask

torch.manual_seed(0)
ours = ScaledDotProductSelfAttention(embed_dim=6).double().eval()
x = torch.randn(2, 5, 6, dtype=torch.float64)
wanted = ours(x, causal_mask(5))

# PyTorch's layer: the same order, other names, and True means "may not attend"
theirs = torch.nn.MultiheadAttention(6, 1, batch_first=True).double().eval()
state = {k.replace("qkv_proj.", "in_proj_"): w for k, w in ours.state_dict().items()}
theirs.load_state_dict(state)
output, _ = theirs(x, x, x, attn_mask=~causal_mask(5))
print((output - wanted).abs().max().item() < 1e-12)
#> True

# GPT-2: the matrix lies the other way round, (in, 3 · in)
c_attn = ours.qkv_proj.weight.T.contiguous()
query, key, value = (x @ c_attn + ours.qkv_proj.bias).split(6, dim=2)
scores = query @ key.transpose(-1, -2) / 6**0.5
scores = torch.where(causal_mask(5), scores, torch.finfo(scores.dtype).min)
output = F.linear(F.softmax(scores, dim=-1) @ value, *ours.out_proj.parameters())
print((output - wanted).abs().max().item() < 1e-12)
#> True
