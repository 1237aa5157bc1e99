import torch

from attn_docs import MultiHeadAttention

torch.manual_seed(0)
tokens = torch.randn(1, 5, 16)
swapped = tokens[:, [1, 0, 2, 3, 4]]  # the first two change places
layers = [MultiHeadAttention(embed_dim=16, num_heads=4) for _ in range(3)]

with torch.no_grad():
    for number, layer in enumerate(layers, 1):
        tokens = tokens + layer(tokens, is_causal=True)
        swapped = swapped + layer(swapped, is_causal=True)
        change = (tokens - swapped)[0, -1].abs().max()
        print(f"after layer {number} the last token differs by {change:.2f}")
#> after layer 1 the last token differs by 0.00
#> after layer 2 the last token differs by 0.06
#> after layer 3 the last token differs by 0.14
