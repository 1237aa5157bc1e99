# pip install transformers
import torch
from transformers import Qwen2VLTextConfig, Qwen3VLTextConfig
from transformers.models.qwen2_vl.modeling_qwen2_vl import Qwen2VLRotaryEmbedding
from transformers.models.qwen3_vl.modeling_qwen3_vl import Qwen3VLTextRotaryEmbedding

from attn_docs import apply_rotary


def several_axes(x, positions, axis_of_pair):  # b h n d, 3 n, d/2
    axis = axis_of_pair.repeat(2)  # d: half-split, both elements of a pair
    rotated = [apply_rotary(x, row) * (axis == a) for a, row in enumerate(positions)]
    return sum(rotated)  # b h n d


def their_way(x, positions, made_by, config):
    cos, sin = made_by(config)(x, positions[:, None])  # b n d
    a, b = x.chunk(2, dim=-1)
    return x * cos[:, None] + torch.cat((-b, a), dim=-1) * sin[:, None]


pair = torch.arange(64)
sections = torch.tensor([0, 1, 2]).repeat_interleave(torch.tensor([16, 24, 24]))  # Qwen2-VL
mixed = torch.where(pair < 60, pair % 3, 0)  # Qwen3-VL: time, height, width, time, …
x, text = torch.randn(1, 2, 6, 128), torch.arange(6).expand(3, 6)
image = torch.tensor([[0, 1, 1, 1, 1, 3], [0, 1, 1, 2, 2, 3], [0, 1, 2, 1, 2, 3]])  # t, h, w
for kind, made_by, axis, section in (
    (Qwen2VLTextConfig, Qwen2VLRotaryEmbedding, sections, [16, 24, 24]),
    (Qwen3VLTextConfig, Qwen3VLTextRotaryEmbedding, mixed, [24, 20, 20]),
):
    rope = {"rope_type": "default", "rope_theta": 10000.0, "mrope_section": section}
    config = kind(hidden_size=256, num_attention_heads=2, head_dim=128, rope_parameters=rope)
    theirs, ours = their_way(x, image, made_by, config), several_axes(x, image, axis)
    plain = torch.allclose(several_axes(x, text, axis), apply_rotary(x, text[0]), atol=1e-6)
    print(made_by.__name__, torch.allclose(ours, theirs, atol=1e-5), "text alone is plain:", plain)
#> Qwen2VLRotaryEmbedding True text alone is plain: True
#> Qwen3VLTextRotaryEmbedding True text alone is plain: True
