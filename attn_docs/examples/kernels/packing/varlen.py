# skip: needs a GPU
import torch
from torch.nn.attention.varlen import varlen_attn

from attn_docs import cu_seqlens, packed_attention

lengths = [300, 500, 200]
query, key, value = torch.randn(3, 1000, 8, 64, device="cuda", dtype=torch.bfloat16)  # n h d
c = cu_seqlens(lengths).cuda()
output = varlen_attn(query, key, value, c, c, max(lengths), max(lengths), window_size=(-1, 0))

rows = (x.transpose(0, 1).float() for x in (query, key, value))  # h n d
loop = packed_attention(*rows, lengths, is_causal=True).transpose(0, 1)
print((output - loop).abs().max() < 0.02)
