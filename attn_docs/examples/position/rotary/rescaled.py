# pip install transformers
import torch
from transformers import LlamaConfig
from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS
from transformers.models.llama.modeling_llama import LlamaRotaryEmbedding, apply_rotary_pos_emb

from attn_docs import RotaryEmbedding


class Rescaled(RotaryEmbedding):
    def __init__(self, omega, factor=1.0):  # d/2 frequencies, and YaRN's constant
        super().__init__(2 * len(omega))
        self.omega = omega.float()  # not a buffer: layer.bfloat16() would round a buffer
        self.factor = factor

    def rotate(self, query, key, positions):  # b h n d, b g n d, and n or b n
        angle = positions[..., None] * self.omega.to(positions.device)  # … n d/2
        angle = angle.unsqueeze(1) if angle.ndim == 3 else angle  # b 1 n d/2
        cos, sin = self.factor * angle.cos(), self.factor * angle.sin()
        pairs = (x.chunk(2, dim=-1) for x in (query, key))
        rotated = [torch.cat((a * cos - b * sin, a * sin + b * cos), dim=-1) for a, b in pairs]
        return rotated[0].to(query.dtype), rotated[1].to(key.dtype)

    def forward(self, x, positions):  # for calls as rotary(key, positions)
        return self.rotate(x, x, positions)[0]


llama3 = {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0}
yarn = {"rope_type": "yarn", "factor": 16.0}
query, key, positions = torch.randn(1, 4, 6, 64), torch.randn(1, 2, 6, 64), torch.arange(6) + 9000
for settings in (llama3, yarn):
    settings |= {"rope_theta": 500000.0, "original_max_position_embeddings": 8192}
    config = LlamaConfig(head_dim=64, max_position_embeddings=131072, rope_parameters=settings)
    ours = Rescaled(*ROPE_INIT_FUNCTIONS[settings["rope_type"]](config))
    cos_sin = LlamaRotaryEmbedding(config)(query, positions[None])
    theirs = apply_rotary_pos_emb(query, key, *cos_sin)
    both = zip(ours.rotate(query, key, positions), theirs, strict=True)
    print(settings["rope_type"], all(torch.allclose(a, b, atol=1e-4) for a, b in both))
#> llama3 True
#> yarn True
