import torch
import torch.nn.functional as F

from attn_docs import sliding_window_mask


def windowed(query, key, value, window, block):  # b h n d, b h n d, b h n e
    outputs = []
    for start in range(0, query.size(2), block):
        end = min(start + block, query.size(2))
        first = max(0, start - window + 1)  # the oldest key that the first query sees
        mask = sliding_window_mask(
            end - start, end - first, window=window, offset=start - first
        )  # block, block + W - 1
        near = key[:, :, first:end], value[:, :, first:end]
        outputs.append(F.scaled_dot_product_attention(query[:, :, start:end], *near, mask))
    return torch.cat(outputs, dim=2)  # b h n e


torch.manual_seed(0)
query, key, value = torch.randn(3, 1, 2, 1000, 16).unbind()
mask = sliding_window_mask(1000, window=64)
dense = F.scaled_dot_product_attention(query, key, value, mask)
print(torch.allclose(windowed(query, key, value, 64, block=128), dense, atol=1e-6))
#> True
computed = 0
for start in range(0, 1000, 128):
    end = min(start + 128, 1000)
    computed += (end - start) * (end - max(0, start - 63))
print(f"needed: {mask.sum():,} scores; with a mask: {mask.numel():,}; in blocks: {computed:,}")
#> needed: 61,984 scores; with a mask: 1,000,000; in blocks: 180,440
