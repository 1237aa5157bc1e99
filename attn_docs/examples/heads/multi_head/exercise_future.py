import torch
import torch.nn.functional as F

from attn_docs import merge_heads

torch.manual_seed(0)
x = torch.randn(1, 6, 4)
changed = x.clone()
changed[:, 3] += 1  # another fourth word
outputs = []
for words in (x, changed):
    heads = words.view(1, 2, 6, 2)  # b h n d, by view alone
    mixed = F.scaled_dot_product_attention(heads, heads, heads, is_causal=True)
    outputs.append(merge_heads(mixed))
noticed = (outputs[0] - outputs[1]).abs().amax(dim=(0, 2)) > 1e-6
print(noticed.tolist())
#> [True, True, True, True, True, True]
