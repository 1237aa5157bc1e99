"""Figures of the chapter on testing attention."""

from collections.abc import Callable
from dataclasses import replace

import drawsvg
import torch
from torch import Tensor

from attn_docs.examples.practice.test_your_attention import layer, right_module
from attn_docs.exhibits.practice import causal_off_by_one
from attn_docs.testing.formula import Hypothesis
from attn_docs.testing.structure import Sources, reproduce
from docs._kit.draw import ACCENT, INK, SOFT, canvas, finish, write
from docs._kit.text import texts

KEY = "practice-test-your-attention"
HEADS, EMBED_DIM, LENGTH = 4, 32, 6
ZERO, BAR = 146, 150  # where bars begin, and how long the longest is
RIGHT = Hypothesis(HEADS, HEADS)
WAYS = (
    RIGHT,
    replace(RIGHT, axis="queries"),
    replace(RIGHT, split="view"),
    replace(RIGHT, divisor="1"),
    replace(RIGHT, divisor="√embed_dim"),
)

LEAKY = causal_off_by_one.Attention(EMBED_DIM, HEADS).eval()
LAYERS: dict[str, Callable[[Tensor], Tensor]] = {
    "heads": layer.Attention(),
    "all": right_module.Attention(),
    "leak": lambda x: LEAKY(x, is_causal=True),
}
SEEN = 5  # tokens in the figure of who sees whom
SIDE, BETWEEN = 18, 42  # of a square there, and between two grids


def tensors() -> tuple[Tensor, Tensor, Tensor]:
    """Return the queries, keys and values that the figure's module projects."""
    generator = torch.Generator().manual_seed(0)
    query, key, value = torch.randn(3, LENGTH, EMBED_DIM, generator=generator, dtype=torch.float64)
    return query, key, value


def module_output() -> Tensor:
    """Return what a module computes that divides by √embed_dim, written out head by head."""
    outputs = []
    for q, k, v in zip(*(t.chunk(HEADS, -1) for t in tensors()), strict=True):
        outputs.append((q @ k.mT / EMBED_DIM**0.5).softmax(-1) @ v)
    return torch.cat(outputs, -1)


def errors() -> list[float]:
    """Return how far each way's result is from the module's, relative to its largest number."""
    target = module_output()
    sources = Sources(("q", "k", "v"), tensors())
    made = [reproduce(sources, way, None, EMBED_DIM, None) for way in WAYS]
    return [
        ((output[0] - target).abs().max() / target.abs().max()).item()
        for output in made
        if output is not None
    ]


def search(language: str) -> str:
    """Draw how far the result of each way of computing is from the module's."""
    text = texts(__file__, "search", language)
    far = errors()
    drawing = canvas(340, 206)
    write(drawing, text["head"], 1, 10, 12, text_anchor="start")
    for row, (way, error) in enumerate(zip(text["ways"], far, strict=True)):
        y = 26 + 36 * row
        write(drawing, way, 1, y + 13, text_anchor="start")
        width = BAR * error / max(far)
        same = error < 1e-9
        look = {"fill": ACCENT} if same else {"stroke": INK, "stroke_opacity": 0.35, "fill": SOFT}
        # what has no length is a line where the others begin
        place = (ZERO - 1.5, y - 3, 3, 32) if same else (ZERO, y, width, 26)
        drawing.append(drawsvg.Rectangle(*place, **look, data_way=row))
        said = text["found"] if same else f"{error:.2f}"
        bold = {"font_weight": "bold"} if same else {}
        write(drawing, said, ZERO + width + 8, y + 13, text_anchor="start", **bold)
    rows = text["join"].join(
        text["row"].format(way=way, error=text["found"] if error < 1e-9 else f"{error:.2f}")
        for way, error in zip(text["ways"], far, strict=True)
    )
    desc = text["desc"].format(rows=rows)
    return finish(drawing.as_svg(header=""), f"{KEY}-search", text["title"], desc)


def depends(attend: Callable[[Tensor], Tensor]) -> list[list[bool]]:
    """Return whether each output (row) has a gradient at each input token (column)."""
    torch.manual_seed(0)
    x = torch.randn(1, SEEN, EMBED_DIM)
    gradients = torch.autograd.functional.jacobian(lambda x: attend(x).square().sum((0, 2)), x)
    found: list[list[bool]] = (gradients.abs().sum((1, 3)) > 0).tolist()
    return found


def seen(language: str) -> str:
    """Draw, of three layers, which output depends on which token."""
    text = texts(__file__, "seen", language)
    width, top, left = SEEN * SIDE, 50, 34
    drawing = canvas(left + 3 * width + 2 * BETWEEN + 12, top + width + 46)
    said = []
    for number, (name, attend) in enumerate(LAYERS.items()):
        x = left + number * (width + BETWEEN)
        write(drawing, text[name][0], x + width / 2, 12, 12, font_weight="bold")
        write(drawing, text["axes"], x + width / 2, top + width + 14, 12)
        found = depends(attend)
        for i, row in enumerate(found):
            write(drawing, str(i), x + (i + 0.5) * SIDE, top - 14, 12)
            write(drawing, str(i), x - 12, top + (i + 0.5) * SIDE, 12)
            for j, there in enumerate(row):
                place = (x + j * SIDE + 1.5, top + i * SIDE + 1.5, SIDE - 3, SIDE - 3)
                look = {"fill": ACCENT} if there else {"fill": SOFT}
                drawing.append(drawsvg.Rectangle(*place, rx=3, **look, data_seen=int(there)))
        write(drawing, text[name][1], x + width / 2, top + width + 34, 12, font_weight="bold")
        rows = ", ".join(
            f"{i}: {[j for j in range(SEEN) if row[j]]}" for i, row in enumerate(found)
        )
        said.append(text["row"].format(name=text[name][0], rows=rows))
    desc = text["desc"].format(panels=text["join"].join(said))
    return finish(drawing.as_svg(header=""), f"{KEY}-seen", text["title"], desc)


FIGURES: dict[str, Callable[[str], str]] = {"seen": seen, "search": search}
