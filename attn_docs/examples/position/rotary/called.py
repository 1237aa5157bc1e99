import torch

from attn_docs import GroupedQueryAttention, RotaryEmbedding

torch.manual_seed(0)
attend = GroupedQueryAttention(24, 6, num_kv_heads=3, rotary=RotaryEmbedding(4))
attend.double().requires_grad_(False)
x = torch.randn(2, 5, 24, dtype=torch.float64)

output, weights = attend(x, need_weights=True)
print(tuple(output.shape), sum(p.numel() for p in attend.rotary.parameters()))
#> (2, 5, 24) 0
later = torch.arange(5) + 1000  # the same tokens, a thousand positions further on
print("shifted: ", torch.allclose(attend(x, positions=later), output))
#> shifted:  True
spread = torch.arange(5) * 2  # twice as far apart
print("spread:  ", torch.allclose(attend(x, positions=spread), output))
#> spread:   False
attend.rotary = None
value = attend.v_proj(x).unflatten(-1, (3, 4)).transpose(1, 2)  # b g n d, not rotated
heads = weights @ value.repeat_interleave(2, dim=1)
print("values:  ", torch.allclose(attend.out_proj(heads.transpose(1, 2).flatten(2)), output))
#> values:   True
