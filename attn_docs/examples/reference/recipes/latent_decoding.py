import torch

from attn_docs import KVCache, MultiHeadLatentAttention

torch.manual_seed(0)
sizes = {"kv_rank": 64, "head_dim": 32, "rope_dim": 16, "value_dim": 32}
attend = MultiHeadLatentAttention(512, 16, **sizes).eval()
prompt, new = torch.randn(1, 100, 512), torch.randn(1, 1, 512)

with torch.no_grad():
    cache = attend.new_cache(batch=1, capacity=128)
    attend(prompt, cache=cache)  # many queries: keys and values are made from the latents
    output = attend(new, cache=cache)  # one query: absorbed, the latents are read as they are
    cache.crop(100)
    expanded = attend(new, cache=cache, absorb=False)
print(torch.allclose(output, expanded, atol=1e-6))
#> True
full = KVCache(batch=1, num_kv_heads=16, head_dim=32, capacity=128)
print("bytes:", cache.nbytes, "with keys and values of 16 heads:", full.nbytes)
#> bytes: 40960 with keys and values of 16 heads: 524288
