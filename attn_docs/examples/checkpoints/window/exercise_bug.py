import torch
import torch.nn.functional as F

from attn_docs import sliding_window_mask

torch.manual_seed(0)
query, key, value = torch.randn(3, 1, 1, 20, 8).unbind()
window, chunk = 6, 8
keys, values, outputs = key[:, :, :0], value[:, :, :0], []
for start in range(0, 20, chunk):
    end = min(start + chunk, 20)
    keys = torch.cat((keys, key[:, :, start:end]), dim=2)[:, :, -window:]
    values = torch.cat((values, value[:, :, start:end]), dim=2)[:, :, -window:]
    n, m = end - start, keys.size(2)
    mask = sliding_window_mask(n, m, window=window, offset=m - n)
    outputs.append(F.scaled_dot_product_attention(query[:, :, start:end], keys, values, mask))

right = F.scaled_dot_product_attention(query, key, value, sliding_window_mask(20, window=window))
rows = torch.isclose(torch.cat(outputs, dim=2), right, atol=1e-6).all(dim=-1)[0, 0]
print("wrong rows:", [i for i in range(20) if not rows[i]])
#> wrong rows: [0, 1, 2, 3, 4, 5, 6, 8, 9, 10, 11, 12, 13, 14, 16, 17, 18]
