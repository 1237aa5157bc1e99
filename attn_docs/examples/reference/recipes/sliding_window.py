import torch

from attn_docs import GroupedQueryAttention, RotaryEmbedding

torch.manual_seed(0)
attend = GroupedQueryAttention(24, 6, 2, window=4, rotary=RotaryEmbedding(4)).eval()
x = torch.randn(1, 12, 24)

with torch.no_grad():
    trained_as = attend(x, is_causal=True)  # no cache: the layer masks by itself
    cache = attend.new_cache(batch=1, capacity=12)  # a ring of 4 slots
    prefill = attend(x[:, :7], cache=cache)
    steps = [attend(x[:, [t]], cache=cache) for t in range(7, 12)]
print(torch.allclose(torch.cat((prefill, *steps), dim=1), trained_as, atol=1e-6))
#> True
print("positions in the slots at the next step:", cache.key_positions(1).tolist())
#> positions in the slots at the next step: [12, 9, 10, 11]
