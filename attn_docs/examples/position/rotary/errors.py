import torch

from attn_docs import MultiHeadAttention, RotaryEmbedding, apply_rotary, rotary_to_half_split

x, attend = torch.randn(2, 3, 5, 4), MultiHeadAttention(12, 3, rotary=RotaryEmbedding(4))
calls = {
    "odd head": lambda: RotaryEmbedding(5),
    "odd part": lambda: RotaryEmbedding(8, rotary_dim=3),
    "before the start": lambda: apply_rotary(x, torch.arange(5) - 1),
    "halves": lambda: apply_rotary(x, torch.arange(5) / 2),
    "one too few": lambda: apply_rotary(x, torch.arange(4)),
    "two sequences": lambda: attend(torch.randn(2, 5, 12), torch.randn(2, 7, 12)),
    "heads": lambda: rotary_to_half_split(torch.randn(12, 12), num_heads=5),
}
for name, call in calls.items():
    try:
        call()
    except (TypeError, ValueError) as error:
        print(f"{name}:\n  {error}")
#> odd head:
#>   head_dim must be even, or rotary_dim given; got 5
#> odd part:
#>   rotary_dim must be even; got 3
#> before the start:
#>   positions must be 0 or more; got -1
#> halves:
#>   positions must hold integers; got torch.float32
#> one too few:
#>   positions must have shape (length,) = (5,) or (batch, length) = (2, 5); got (4,)
#> two sequences:
#>   context must be None with rotary positions; got a context
#> heads:
#>   num_heads must divide weight's first size = 12; got 5
