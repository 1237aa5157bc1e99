import torch

from attn_docs import MultiHeadAttention, RotaryEmbedding, apply_rotary, split_heads

torch.manual_seed(0)
window, first, n = 4, 2, 15
layer = MultiHeadAttention(24, 3, window=window, keep_first=first, rotary=RotaryEmbedding(8))
x = torch.randn(1, n, 24)
q, k = split_heads(layer.q_proj(x), 3), split_heads(layer.k_proj(x), 3)  # b h n d, not rotated
held = torch.tensor([*range(first), *range(n - window, n)])  # what the last query sees


def scores(query_at, keys_at):
    query = apply_rotary(q[:, :, [-1]], torch.tensor([query_at]))
    return (query @ apply_rotary(k[:, :, held], keys_at).mT).squeeze(2)  # b h m


original = scores(n - 1, held)  # 0 1 11 12 13 14: as ours
renumbered = scores(len(held) - 1, torch.arange(len(held)))  # 0 1 2 3 4 5: as StreamingLLM
print(torch.allclose(original[..., first:], renumbered[..., first:], atol=1e-5))
#> True
print(torch.allclose(original[..., :first], renumbered[..., :first], atol=1e-5))
#> False

dropped = n - len(held)  # move the first keys on by as many places, and leave the others
moved = scores(n - 1, torch.cat((held[:first] + dropped, held[first:])))
print(torch.allclose(moved, renumbered, atol=1e-5))
#> True

_, weights = layer(x, is_causal=True, need_weights=True)
ours = (original / 8**0.5).softmax(dim=-1)
print(torch.allclose(weights[:, :, -1, held], ours, atol=1e-5))
#> True
