import torch
import torch.nn.functional as F

from attn_docs import sliding_window_mask

torch.manual_seed(0)
query, key, value = torch.randn(3, 1, 1, 20, 8).unbind()
window, chunk = 6, 8
keys, values, outputs = key[:, :, :0], value[:, :, :0], []
for start in range(0, 20, chunk):
    end = min(start + chunk, 20)
    keys = torch.cat((keys, key[:, :, start:end]), dim=2)
    values = torch.cat((values, value[:, :, start:end]), dim=2)
    n, m = end - start, keys.size(2)
    mask = sliding_window_mask(n, m, window=window, offset=m - n)
    outputs.append(F.scaled_dot_product_attention(query[:, :, start:end], keys, values, mask))
    keys, values = keys[:, :, -window:], values[:, :, -window:]  # trimmed after attending

right = F.scaled_dot_product_attention(query, key, value, sliding_window_mask(20, window=window))
print(torch.allclose(torch.cat(outputs, dim=2), right, atol=1e-6))
#> True
