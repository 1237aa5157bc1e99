import torch

from attn_docs import GroupedQueryAttention, RotaryEmbedding

torch.manual_seed(0)
attend = GroupedQueryAttention(24, 6, 2, rotary=RotaryEmbedding(4)).eval()
prompt, draft, right = torch.randn(2, 5, 24), torch.randn(2, 3, 24), torch.randn(2, 1, 24)

with torch.no_grad():
    cache = attend.new_cache(batch=2, capacity=16)
    attend(prompt, cache=cache)
    attend(draft, cache=cache)  # three proposed tokens, checked in one call
    cache.crop(6)  # one is accepted: five of the prompt and one stay
    output = attend(right, cache=cache)

    expected = attend(torch.cat((prompt, draft[:, :1], right), dim=1), is_causal=True)
    same = torch.allclose(output, expected[:, -1:], atol=1e-6)
    cache.select(torch.tensor([1, 1, 0]))  # beam search goes on from rows 1, 1 and 0
print(same, cache)
#> True KVCache(batch=3, num_kv_heads=2, head_dim=4, length=7, capacity=16, torch.float32, cpu)
