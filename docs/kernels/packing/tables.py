"""What padding wastes, who leaks, and which calls of transformers keep documents apart."""

import math
from collections.abc import Callable
from typing import Any

import torch
import transformers
from torch import Tensor

from attn_docs import (
    MultiHeadAttention,
    RotaryEmbedding,
    causal_mask,
    document_ids,
    document_mask,
    document_positions,
)
from docs._kit.markdown import table
from docs._kit.measured import load
from docs._kit.text import texts

from . import benchmark, calls, figures
from .waste import BATCH, ROOM, document_lengths, first_fit, ways

FIRST, LENGTHS = 4, (4, 5)
WAYS = ("nothing", "positions", "mask", "both")
PENCIL = 8192  # the tokens of the row in an exercise


def _layer(*, rotary: bool) -> MultiHeadAttention:
    torch.manual_seed(0)
    return MultiHeadAttention(12, 3, rotary=RotaryEmbedding(4) if rotary else None).double()


def _difference(found: Tensor, wanted: Tensor) -> float:
    return float((found - wanted).detach().abs().max())


def leak_of(way: str) -> tuple[float, float, float]:
    """Return the gradient from document 1, and how far document 2 is from being alone.

    The second number is for rotary positions, the third for a table of learned ones.
    """
    n = sum(LENGTHS)
    mask = causal_mask(n)
    if way in ("mask", "both"):
        mask = mask & document_mask(document_ids(LENGTHS))
    reset = document_positions(LENGTHS)
    positions = reset if way in ("positions", "both") else torch.arange(n)
    rotary, plain = _layer(rotary=True), _layer(rotary=False)
    x = torch.randn(1, n, 12, dtype=torch.float64, requires_grad=True)
    learned = torch.randn(n, 12, dtype=torch.float64)

    output = rotary(x, attn_mask=mask, positions=positions)[:, FIRST:]
    (gradient,) = torch.autograd.grad(output.square().sum(), x)
    second = x[:, FIRST:].detach()
    alone = rotary(second, is_causal=True)
    embedded = plain(x + learned[positions], attn_mask=mask)[:, FIRST:]
    embedded_alone = plain(second + learned[: LENGTHS[1]], is_causal=True)
    return (
        float(gradient[:, :FIRST].abs().max()),
        _difference(output, alone),
        _difference(embedded, embedded_alone),
    )


def _small(value: float) -> str:
    if value == 0:
        return "0"
    return "≤ 10⁻¹²" if value <= 1e-12 else f"{value:.2f}"


def _share(part: float) -> str:
    """Write a part of a whole: small ones with a digit after the point, none as 0."""
    return "0" if part == 0 else f"{part:.1%}" if part < 0.01 else f"{part:.0%}"


def leak(language: str) -> str:
    """Return who still reads the other document, by what tells the documents apart."""
    text = texts(__file__, "leak", language)
    rows = ((text[way], *map(_small, leak_of(way))) for way in WAYS)
    return f"{table(text['header'], rows)}\n\n{text['caption']}"


def waste(language: str) -> str:
    """Return what padded and packed batches of the same documents compute."""
    text, lengths = texts(__file__, "waste", language), document_lengths()
    real, least = sum(lengths), ways()["varlen"][1]
    rows = (
        (
            text[way],
            f"{tokens:,}",
            _share(1 - real / tokens),
            f"{scores / least:.1f}×",
        )
        for way, (tokens, scores) in ways().items()
    )
    caption = text["caption"].format(
        count=len(lengths), real=f"{real:,}", batch=BATCH, room=f"{ROOM:,}"
    )
    return f"{table(text['header'], rows)}\n\n{caption}"


def _verdict(text: dict[str, Any], change: float) -> str:
    if math.isnan(change):
        return str(text["error"])
    return str(text["apart"] if change == 0 else text["leaks"].format(change=change))


def transformers_calls(language: str) -> str:
    """Return which calls keep documents apart, by attention implementation."""
    text = texts(__file__, "calls", language)
    rows = (
        (
            text[call],
            *(
                _verdict(text, change)
                for change in (calls.changes(each, call) for each in calls.IMPLEMENTATIONS)
            ),
        )
        for call in calls.CALLS
    )
    caption = text["caption"].format(version=transformers.__version__)
    return f"{table(text['header'], rows, words=range(4))}\n\n{caption}"


def speed(language: str) -> str:
    """Return the time of each way to attend within documents, as it was measured."""
    text, measured = texts(__file__, "speed", language), load(benchmark.__file__)["row"]
    rows = (
        (text[way], f"{measured('time', way=way):.2f}×")
        for way in ("dense", "leaky", "flex", "build", "loop")
    )
    row = benchmark.packed_row()
    caption = text["caption"].format(
        n=f"{sum(row):,}",
        count=len(row),
        lengths=", ".join(map(str, row)),
        h=benchmark.HEADS,
        d=benchmark.HEAD_DIM,
    )
    return f"{table(text['header'], rows)}\n\n{measured.caption(caption, language)}"


def _flex() -> dict[str, str]:
    """Return how much faster FlexAttention is than a dense mask, and what its blocks take."""
    measured = load(benchmark.__file__)["row"]
    call = measured("time", way="flex")
    plain, compiled = (measured("memory", way=way) for way in ("plain", "compiled"))
    return {
        "flex_times": f"{1 / call:.0f}",
        "long": f"{benchmark.LONG:,}",
        "built_mask": f"{benchmark.LONG**2 / 2**30:.2f} GiB",
        "built_plain": f"{plain / 1024:.1f} GiB",
        "built_compiled": f"{compiled:.1f} MiB",
    }


TABLES: dict[str, Callable[[str], str]] = {
    "waste": waste,
    "leak": leak,
    "calls": transformers_calls,
    "speed": speed,
}


def numbers() -> dict[str, Any]:
    """Return the numbers that the chapter's sentences use."""
    lengths, found = document_lengths(), ways()
    real, least = sum(lengths), found["varlen"][1]
    blocks = figures.block_mask()
    return {
        "documents": f"{len(lengths):,}",
        "batch": str(BATCH),
        "room": f"{ROOM:,}",
        "median": f"{sorted(lengths)[len(lengths) // 2]}",
        "longest": f"{max(lengths):,}",
        "padding": f"{1 - real / found['random'][0]:.0%}",
        "times": f"{found['random'][0] / real:.1f}",
        "padding_sorted": f"{1 - real / found['sorted'][0]:.0%}",
        "padding_in_order": f"{1 - real / found['in_order'][0]:.0%}",
        "padding_packed": f"{1 - real / found['dense'][0]:.1%}",
        "rows": str(len(first_fit(lengths, ROOM))),
        "dense": f"{found['dense'][1] / least:.1f}",
        "sorted": f"{found['sorted'][1] / least:.1f}",
        "gradient": f"{leak_of('positions')[0]:.2f}",
        "gradient_before": f"{leak_of('nothing')[0]:.2f}",
        **_flex(),
        "pencil_row": f"{PENCIL:,}",
        "pencil_dense": f"{PENCIL**2:,}",
        "pencil_own": f"{16 * 512**2:,}",
        "drawn_room": str(figures.PACKED_ROOM),
        "transformers": transformers.__version__,
        "torch": torch.__version__.partition("+")[0],
        "sparsity": f"{blocks.sparsity():.0f}%",
    }
