import torch

torch.manual_seed(0)
query, key, value = torch.randn(3, 7, 4)  # n d: seven tokens
window = 4
keys, values, outputs = torch.empty(window, 4), torch.empty(window, 4), []
for t in range(7):
    slot = t % window  # where the oldest token is
    keys[slot], values[slot] = key[t], value[t]
    held = min(t + 1, window)
    scores = query[t] @ keys[:held].T / 2  # m; √d = 2
    outputs.append(scores.softmax(dim=-1) @ values[:held])  # d

from attn_docs import scaled_dot_product_attention, sliding_window_mask

whole = scaled_dot_product_attention(query, key, value, sliding_window_mask(7, window=window))
print(torch.allclose(torch.stack(outputs), whole, atol=1e-6))
#> True
