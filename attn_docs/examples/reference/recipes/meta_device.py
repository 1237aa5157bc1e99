import torch

from attn_docs import GroupedQueryAttention, RotaryEmbedding

with torch.device("meta"):  # shapes and dtypes, no memory
    attend = GroupedQueryAttention(8192, 64, 8, bias=False, rotary=RotaryEmbedding(128))
    attend = attend.to(torch.bfloat16).eval()
    x = torch.empty(16, 512, 8192, dtype=torch.bfloat16)

parameters = sum(weight.numel() for weight in attend.parameters())
cache = attend.new_cache(batch=16, capacity=131_072)
with torch.no_grad():
    output = attend(x, cache=cache)
print(f"{parameters:,} parameters, {cache.nbytes / 2**30:.0f} GiB of cache a layer")
#> 150,994,944 parameters, 8 GiB of cache a layer
print(tuple(output.shape), output.dtype, output.device, cache.length)
#> (16, 512, 8192) torch.bfloat16 meta 512
