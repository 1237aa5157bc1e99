"""What rotary positions cost, how fast the pairs rotate, and the numbers of the chapter."""

import math
from typing import NamedTuple

import torch
from torch import Tensor

from attn_docs import apply_rotary
from docs._kit.markdown import table
from docs._kit.measured import load
from docs._kit.text import texts

from . import benchmark

# Llama 3 8B
EMBED_DIM, HEADS, KV_HEADS, HEAD_DIM = 4096, 32, 8, 128
LENGTH = 8192


class Model(NamedTuple):
    """What a model rotates, and the context it was trained on before anything was rescaled."""

    name: str
    rotary_dim: int
    theta: float
    context: int


# The first and the last two: defaults of transformers' config classes, as the tests compare.
# Code Llama, Llama 3, Gemma 3: their papers.
MODELS = (
    Model("Llama", 128, 1e4, 2048),
    Model("Llama 3", 128, 5e5, 8192),
    Model("Code Llama", 128, 1e6, 16384),
    Model("Gemma 3", 256, 1e6, 32768),
    Model("gpt-oss", 64, 1.5e5, 4096),
    Model("DeepSeek-V3", 64, 1e4, 4096),
)
LLAMA_3 = MODELS[1]


class Flops(NamedTuple):
    """Operations of one layer: rotating queries and keys, scores and mix."""

    rotate: int
    score_and_mix: int


def flops(new: int, keys: int) -> Flops:
    """Count for `new` queries and keys of a text in which each query sees `keys` keys."""
    rotated = (HEADS + KV_HEADS) * HEAD_DIM
    return Flops(
        rotate=3 * new * rotated,  # a pair: four products, one sum, one difference
        score_and_mix=2 * 2 * new * keys * HEADS * HEAD_DIM,
    )


def wavelengths(theta: float, rotary_dim: int = HEAD_DIM) -> Tensor:
    """Return after how many positions each pair is back, from the angles of position 1."""
    x = torch.zeros(1, 1, 1, rotary_dim, dtype=torch.float64)
    x[..., : rotary_dim // 2] = 1
    rotated = apply_rotary(x, torch.tensor([1]), theta=theta).flatten()
    cos, sin = rotated.chunk(2)
    return 2 * math.pi / torch.atan2(sin, cos)


def fast_half(distance: int) -> float:
    """Return the mean score of the faster pairs of a head of 64 for a key best one token back."""
    return _mean_score(distance, wavelengths(MODELS[0].theta, 64)[:16])


def slow_half(distance: int) -> float:
    """Return the mean score of the slower pairs of the same head."""
    return _mean_score(distance, wavelengths(MODELS[0].theta, 64)[16:])


def _mean_score(distance: int, waves: Tensor) -> float:
    return torch.cos((distance - 1) * 2 * math.pi / waves).mean().item()


def turned_once(model: Model) -> int:
    """Return how many pairs make at least one full turn within the model's context."""
    return int((wavelengths(model.theta, model.rotary_dim) <= model.context).sum())


def buffer_error(position: int) -> float:
    """Return by how many radians an angle is off if its frequency is rounded to bfloat16."""
    omega = 2 * math.pi / wavelengths(MODELS[0].theta)
    return position * (omega - omega.bfloat16()).abs().max().item()


def _share(part: int, whole: int) -> str:
    return f"{100 * part / whole:.2g}%"


def step(language: str) -> str:
    """Return operations and measured time of a decoding step, with and without rotating."""
    text, found = texts(__file__, "step", language), load(__file__)["step"]
    rows = [
        (
            text[way],
            str(benchmark.operations(way)),
            *(f"{found('time', way=way, cached=cached):.1f}×" for cached in benchmark.CACHED),
        )
        for way in benchmark.WAYS
    ]
    times = (text["time"].format(f"{cached:,}") for cached in benchmark.CACHED)
    caption = text["caption"].format(embed_dim=f"{benchmark.EMBED_DIM:,}", heads=benchmark.HEADS)
    return f"{table((*text['header'], *times), rows)}\n\n{found.caption(caption, language)}"


TABLES = {"step": step}


def numbers() -> dict[str, str]:
    """Return the numbers that the chapter's sentences use."""
    text = flops(LENGTH, LENGTH)
    slowest = wavelengths(LLAMA_3.theta)[-1].item()
    waves = wavelengths(MODELS[0].theta, 64)  # of the chapter's head, for a key best 1000 back
    rescaled = int((wavelengths(LLAMA_3.theta) > LENGTH / 4).sum())
    no_turn = len(wavelengths(LLAMA_3.theta)) - turned_once(LLAMA_3)
    return {
        "degrees_one": f"{math.degrees(1):.1f}",
        "length": f"{LENGTH:,}",
        "part_of_turn": f"1/{slowest / LENGTH:.0f}",
        # Llama 3.1 leaves full turns below a quarter of 8,192 tokens as they are
        "rescaled": str(rescaled),
        "no_turn": str(no_turn),
        "ramp": str(rescaled - no_turn),
        **{f"best_{at}": f"{_mean_score(at - 999, waves):.2f}" for at in (0, 100)},
        "quarter": f"{LENGTH // 4:,}",
        "code_llama": f"{MODELS[2].context:,}",
        "buffer_error": f"{buffer_error(1000):.1f}",
        "share": _share(text.rotate, text.score_and_mix),
        **{f"slow_{at}": f"{slow_half(at):.2f}" for at in (100, 500, 2048)},
        "fast_lead": f"{1 - fast_half(0):.3f}",
        "fast_lead_50": f"{50 * (1 - fast_half(0)):.1f}",
        "theta_roformer": f"{MODELS[0].theta:,.0f}",
        "wave_short": f"{2 * math.pi:.2f}",
    }
