import torch

from attn_docs import GroupedQueryAttention, RotaryEmbedding

torch.manual_seed(0)
attend = GroupedQueryAttention(24, 6, 2, rotary=RotaryEmbedding(4)).eval()
long, short = torch.randn(1, 5, 24), torch.randn(1, 3, 24)
prompts = torch.cat((long, torch.cat((torch.zeros(1, 2, 24), short), dim=1)))  # b n embed_dim
real = torch.tensor([[1, 1, 1, 1, 1], [0, 0, 1, 1, 1]]).bool()  # True: no padding
new = torch.randn(2, 1, 24)  # the next token of each row

with torch.no_grad():
    cache = attend.new_cache(batch=2, capacity=8)
    positions = (real.cumsum(1) - 1).clamp(min=0)  # b n: padding does not count
    attend(prompts, key_padding_mask=real, positions=positions, cache=cache)

    real = torch.cat((real, torch.ones(2, 1).bool()), dim=1)  # the mask grows with the cache
    positions = real.sum(1, keepdim=True) - 1  # b 1
    output = attend(new, key_padding_mask=real, positions=positions, cache=cache)

    alone = attend(torch.cat((short, new[1:]), dim=1), is_causal=True)
print(torch.allclose(output[1], alone[0, -1:], atol=1e-6))
#> True
