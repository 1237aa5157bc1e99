import torch


def attend(query, key, value, mask):  # n d, m d, m e, n m
    scores = query @ key.T / query.size(-1) ** 0.5  # n m
    return scores.masked_fill(~mask, float("-inf")).softmax(dim=-1) @ value  # n e


torch.manual_seed(0)
query, key, value = torch.randn(3, 12, 4)  # n d: twelve tokens
window, first = 4, 1  # the last four, the token itself among them; and token 0
i, j = torch.arange(12).unsqueeze(1), torch.arange(12)  # n 1, n
mask = (j <= i) & ((i - j < window) | (j < first))  # n n: in training

keys, values, outputs = torch.empty(first + window, 4), torch.empty(first + window, 4), []
for t in range(12):  # in decoding: slots for the first ones, and behind them the ring
    slot = t if t < first else first + (t - first) % window
    keys[slot], values[slot] = key[t], value[t]
    held = min(t + 1, first + window)  # m
    outputs.append(attend(query[[t]], keys[:held], values[:held], torch.ones(1, held).bool()))
print(torch.allclose(torch.cat(outputs), attend(query, key, value, mask), atol=1e-6))
#> True

from attn_docs import sliding_window_mask

print(torch.equal(mask, sliding_window_mask(12, window=window, keep_first=first)))
#> True
