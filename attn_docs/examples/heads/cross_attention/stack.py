import torch

from attn_docs import MultiHeadAttention, padding_mask

torch.manual_seed(0)
encoder, decoder, cross = (MultiHeadAttention(embed_dim=8, num_heads=2) for _ in range(3))


def translate(source, target, lengths):
    is_token = padding_mask(lengths, source.size(1))[:, None, None]  # b 1 1 m
    memory = source + encoder(source, attn_mask=is_token)
    hidden = target + decoder(target, is_causal=True)
    return hidden + cross(hidden, memory, attn_mask=is_token)


def moved(source, target):  # which target tokens come out changed
    difference = translate(source, target, [4]) - before
    return (difference.abs().amax(-1)[0] > 1e-6).int().tolist()


source, target = torch.randn(1, 5, 8), torch.randn(1, 3, 8)  # four tokens and padding
before = translate(source, target, [4])
print(tuple(before.shape))
#> (1, 3, 8)
print(moved(source, target.index_fill(1, torch.tensor([2]), 9.0)), "last target token")
#> [0, 0, 1] last target token
print(moved(source.index_fill(1, torch.tensor([3]), 9.0), target), "last source token")
#> [1, 1, 1] last source token
print(moved(source.index_fill(1, torch.tensor([4]), 9.0), target), "padding of the source")
#> [0, 0, 0] padding of the source
