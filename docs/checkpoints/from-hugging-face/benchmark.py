"""How far layers are from the models' own: converted ones, and one that rounds otherwise."""

import warnings

import torch
from torch import nn
from transformers import LlamaConfig
from transformers.models.llama.modeling_llama import LlamaAttention, LlamaRotaryEmbedding

from docs._kit.measure import one_thread
from docs._kit.measured import Measurement, measurement
from tests.checkpoints.families import FAMILIES, compare, relative

HEADS, APART, LENGTH, SEEDS = (8, 64, 128), (1, 50, 500), 60, 3
_THETA = 500_000.0


def measure() -> dict[str, Measurement]:
    """Compare each small model's layers with ours: whole, cached in chunks, and padded."""
    values: list[dict[str, object]] = []
    with one_thread(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, family in FAMILIES.items():
            found = compare(family)._asdict()
            values += [
                {"family": name, "quantity": way, "value": float(f"{off:.2g}"), "unit": "ratio"}
                for way, off in found.items()
                if off is not None
            ]
        far = [
            {"head": d, "apart": step, "quantity": "off", "value": float(f"{off:.2g}")}
            for d in HEADS
            for step in APART
            for off in [max(rounded(d, step, seed) for seed in range(SEEDS))]
        ]
    # the outputs are compared, whatever operator made them
    return {
        "families": measurement([v | {"kernel": "all"} for v in values], threads=1),
        "rounding": measurement([v | {"unit": "ratio", "kernel": "all"} for v in far], threads=1),
    }


@torch.no_grad()
def rounded(head_dim: int, apart: int, seed: int) -> float:
    """Return how far Llama's layer is from itself if frequencies are written another way."""
    torch.manual_seed(seed)
    rope = {"rope_type": "default", "rope_theta": _THETA}
    sizes = {"hidden_size": 42, "num_attention_heads": 6, "num_key_value_heads": 2}
    config = LlamaConfig(
        **sizes,
        head_dim=head_dim,
        max_position_embeddings=131_072,
        rope_parameters=rope,
        attn_implementation="sdpa",
    )
    layer = LlamaAttention(config, layer_idx=0)
    for weight in layer.parameters():
        nn.init.normal_(weight, std=0.3)
    x, positions = torch.randn(2, LENGTH, 42), apart * torch.arange(LENGTH)
    theirs = LlamaRotaryEmbedding(config)(x, positions[None])
    steps = torch.arange(0, head_dim, 2) / head_dim
    angles = torch.outer(positions, _THETA**-steps).repeat(1, 2)[None]
    other = (angles.cos(), angles.sin())
    found, right = (layer(x, which, attention_mask=None)[0] for which in (other, theirs))
    return relative(found, right)
