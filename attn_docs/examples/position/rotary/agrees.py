import torch

from attn_docs import apply_rotary

torch.manual_seed(0)
x = torch.randn(2, 3, 7, 8, dtype=torch.float64)  # b h n d
positions = torch.arange(7)
angles = positions[:, None] / 10000 ** (torch.arange(0, 8, 2, dtype=torch.float64) / 8)

# neighbours are one complex number, and rotating is multiplying
turns = torch.polar(torch.ones_like(angles), angles)  # n D/2
rotated = torch.view_as_complex(x.unflatten(-1, (-1, 2))) * turns
wanted = torch.view_as_real(rotated).flatten(-2)
ours = apply_rotary(x, positions, interleaved=True)
print("complex numbers:", torch.allclose(ours, wanted, rtol=0, atol=1e-12))
#> complex numbers: True

# as in Hugging Face's Llama: tables of full width, and the halves swapped
cos, sin = (torch.cat((t, t), dim=-1) for t in (angles.cos(), angles.sin()))  # n d
swapped = torch.cat((-x[..., 4:], x[..., :4]), dim=-1)
wanted = x * cos + swapped * sin
ours = apply_rotary(x, positions)
print("rotate_half:    ", torch.allclose(ours, wanted, rtol=0, atol=1e-12))
#> rotate_half:     True
