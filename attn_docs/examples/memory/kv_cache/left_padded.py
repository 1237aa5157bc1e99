import torch

from attn_docs import KVCache, MultiHeadAttention, RotaryEmbedding, padding_mask

torch.manual_seed(0)
attend = MultiHeadAttention(12, 3, rotary=RotaryEmbedding(4))
texts = [torch.randn(1, n, 12) for n in (5, 3)]
padding = 9 * torch.ones(1, 2, 12)
x = torch.cat((texts[0], torch.cat((padding, texts[1]), dim=1)))  # b n embed_dim

is_token = padding_mask([5, 3]).flip(1)  # b n, padding on the left
positions = (is_token.cumsum(1) - 1).clamp(min=0)
print(positions.tolist())
#> [[0, 1, 2, 3, 4], [0, 0, 0, 1, 2]]
cache, outputs = KVCache(batch=2, num_kv_heads=3, head_dim=4, capacity=5), []
for new in (slice(0, 3), slice(3, 4), slice(4, 5)):
    mask = is_token[:, None, None, : new.stop]  # b 1 1 m: all keys so far
    options = {"is_causal": True, "cache": cache, "positions": positions[:, new]}
    outputs.append(attend(x[:, new], attn_mask=mask, **options))
output = torch.cat(outputs, dim=1)
for row, text in zip(output, texts, strict=True):
    alone = attend(text, is_causal=True)[0]
    print(torch.allclose(row[-len(alone) :], alone, atol=1e-6))
#> True
#> True
