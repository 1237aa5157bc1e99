import torch
import torch.nn.functional as F

from attn_docs import RotaryEmbedding, causal_mask

torch.manual_seed(0)
rotary = RotaryEmbedding(8)
query, key, value = torch.randn(3, 1, 1, 6, 8)  # b h n d

kept, outputs = torch.empty(1, 1, 0, 8), []
for t in range(6):
    new = rotary(key[:, :, [t]], torch.tensor([t]))  # once, before it is cached
    kept = torch.cat((kept, new), dim=2)
    asked = rotary(query[:, :, [t]], torch.tensor([t]))
    outputs.append(F.scaled_dot_product_attention(asked, kept, value[:, :, : t + 1]))

places = torch.arange(6)
whole = rotary(query, places), rotary(key, places), value, causal_mask(6)
same = torch.isclose(torch.cat(outputs, dim=2), F.scaled_dot_product_attention(*whole), atol=1e-5)
print(same.all(-1).int().tolist())
#> [[[1, 1, 1, 1, 1, 1]]]
