import torch

from attn_docs import GroupedQueryAttention, RotaryEmbedding

torch.manual_seed(0)
attend = GroupedQueryAttention(64, 8, 2, rotary=RotaryEmbedding(8)).eval()
prompt = torch.randn(1, 1000, 64)

with torch.no_grad():
    at_once = attend(prompt, is_causal=True)
    cache = attend.new_cache(batch=1, capacity=1200)
    chunks = [attend(chunk, cache=cache) for chunk in prompt.split(256, dim=1)]
print([chunk.size(1) for chunk in chunks], cache.length)
#> [256, 256, 256, 232] 1000
print(torch.allclose(torch.cat(chunks, dim=1), at_once, atol=1e-6))
#> True
