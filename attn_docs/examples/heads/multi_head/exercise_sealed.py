import torch
import torch.nn.functional as F


def causal_attention(query, key, value, num_heads):  # b n D each
    parts = (x.unflatten(2, (num_heads, -1)).transpose(1, 2) for x in (query, key, value))
    heads = F.scaled_dot_product_attention(*parts, is_causal=True)  # b h n d
    return heads.transpose(1, 2).reshape(query.shape)  # b n D


torch.manual_seed(0)
x = torch.randn(1, 6, 4)
changed = x.clone()
changed[:, 5] += 1  # another last token
before, after = (causal_attention(t, t, t, num_heads=2) for t in (x, changed))
print((before - after).abs().amax(-1)[0] > 1e-6)
#> tensor([False, False, False, False, False,  True])
