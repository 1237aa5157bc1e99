"""What rotary positions cost, how fast the pairs turn, and the numbers of the chapter."""

import math
from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from attn_docs import apply_rotary
from docs._kit.markdown import table
from docs._kit.measured import load
from docs._kit.text import texts

from . import benchmark

# Llama 3 8B
EMBED_DIM, HEADS, KV_HEADS, HEAD_DIM = 4096, 32, 8, 128
LENGTHS = (512, 8192, 131072)
THETAS = {"RoFormer": 1e4, "gpt-oss": 1.5e5, "Llama 3": 5e5}
HEAD_DIMS = {"RoFormer": 64, "gpt-oss": 64, "Llama 3": 128}
PARTS = (0, 1 / 4, 1 / 2, 3 / 4)  # how far a pair stands between the first and the last


class Flops(NamedTuple):
    """Operations of one layer: turning queries and keys, four projections, scores and mix."""

    turn: int
    project: int
    score_and_mix: int


def flops(new: int, keys: int) -> Flops:
    """Count for `new` queries and keys of a text in which each query sees `keys` keys."""
    turned = (HEADS + KV_HEADS) * HEAD_DIM
    return Flops(
        turn=3 * new * turned,  # a pair: four products, one sum, one difference
        project=2 * new * EMBED_DIM * 2 * turned,  # queries and output, keys and values
        score_and_mix=2 * 2 * new * keys * HEADS * HEAD_DIM,
    )


class _Watch(TorchDispatchMode):
    """Add up the numbers that products, sums and differences of pairs make."""

    found = 0

    def __torch_dispatch__(
        self,
        func: Callable[..., Tensor],
        types: object,
        args: tuple[object, ...] = (),
        kwargs: dict[str, object] | None = None,
    ) -> Tensor:
        result = func(*args, **(kwargs or {}))
        if func.name() in ("aten::mul.Tensor", "aten::add.Tensor", "aten::sub.Tensor"):
            self.found += result.numel() if result.ndim == 4 else 0
        return result


def counted(heads: int, length: int, head_dim: int) -> int:
    """Count the same for one call of `apply_rotary`, by watching it."""
    with _Watch() as watch:
        apply_rotary(torch.zeros(1, heads, length, head_dim), torch.arange(length))
    return watch.found


def wavelengths(theta: float, head_dim: int = HEAD_DIM) -> Tensor:
    """Return after how many positions each pair is back, from the angles of position 1."""
    x = torch.zeros(1, 1, 1, head_dim, dtype=torch.float64)
    x[..., : head_dim // 2] = 1
    turned = apply_rotary(x, torch.tensor([1]), theta=theta).flatten()
    cos, sin = turned.chunk(2)
    return 2 * math.pi / torch.atan2(sin, cos)


def _positions(count: float) -> str:
    return f"{count:,.2f}" if count < 100 else f"{count:,.0f}"


def waves(language: str) -> str:
    """Return the wavelengths of some pairs of a head for the θ of three models."""
    text = texts(__file__, "waves", language)
    thetas = (
        text["theta"].format(theta=f"{of:,.0f}", name=name, head_dim=HEAD_DIMS[name])
        for name, of in THETAS.items()
    )
    columns = [wavelengths(theta, HEAD_DIMS[name]) for name, theta in THETAS.items()]
    places = [[int(part * len(column)) for column in columns] for part in PARTS]
    places.append([-1 for _ in columns])
    rows = [
        (name, *(_positions(column[i].item()) for column, i in zip(columns, at, strict=True)))
        for name, at in zip(text["pairs"], places, strict=True)
    ]
    return f"{table((text['first'], *thetas), rows)}\n\n{text['caption']}"


def _short(count: float) -> str:
    """Return a count with three digits and a unit."""
    unit = int(math.log10(count)) // 3
    return f"{count / 1000**unit:.3g} {' kMGT'[unit]}"


def _share(part: int, whole: int) -> str:
    return f"{100 * part / whole:.2g} %"


def cost(language: str) -> str:
    """Return the operations of a layer of Llama 3 8B, with the share that turning takes."""
    header = texts(__file__, "cost", language)["header"]
    names = texts(__file__, "cost", language)["names"]
    cases = [(names[0].format(n), flops(n, n)) for n in LENGTHS]
    cases += [(names[1].format(m), flops(1, m)) for m in LENGTHS[1:2]]
    rows = [
        (name, *map(_short, found), _share(found.turn, found.score_and_mix))
        for name, found in cases
    ]
    caption = texts(__file__, "cost", language)["caption"].format(
        embed_dim=f"{EMBED_DIM:,}", heads=HEADS, kv_heads=KV_HEADS, head_dim=HEAD_DIM
    )
    return f"{table(header, rows)}\n\n{caption}"


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


TABLES = {"waves": waves, "cost": cost, "step": step}


def numbers() -> dict[str, str]:
    """Return the numbers that the chapter's sentences use."""
    cos, sin = math.cos(1), math.sin(1)
    text = flops(LENGTHS[1], LENGTHS[1])
    return {
        "cos_one": f"{cos:.2f}",
        "degrees_one": f"{math.degrees(1):.1f}",
        "degrees_slow": f"{math.degrees(1 / 4):.1f}",
        "length": f"{LENGTHS[1]:,}",
        "part_of_turn": f"1/{wavelengths(THETAS['Llama 3'])[-1] / LENGTHS[1]:.0f}",
        "score_back": f"{7 * cos - sin:.2f}",
        "score_one": f"{7 * cos + sin:.2f}",
        "share": _share(text.turn, text.score_and_mix),
        "share_of_projections": _share(text.turn, text.project),
        "sin_one": f"{sin:.2f}",
        "theta_gpt_oss": f"{THETAS['gpt-oss']:,.0f}",
        "theta_llama": f"{THETAS['Llama 3']:,.0f}",
        "theta_roformer": f"{THETAS['RoFormer']:,.0f}",
        "wave_short": f"{2 * math.pi:.2f}",
    }
