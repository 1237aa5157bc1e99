"""Figures of the chapter on bilinear attention."""

import functools
from collections.abc import Callable

import drawsvg
import torch
from torch import Tensor

from attn_docs import MultiHeadAttention
from attn_docs.practice.bugs_that_train import LENGTH, NextWord, fit
from attn_docs.sentence import KINDS
from docs._kit.draw import ACCENT, ACCENT_2, INK, SHADE, SOFT, canvas, finish, write
from docs._kit.examples import example
from docs._kit.measure import one_thread
from docs._kit.text import texts

KEY = "foundations-bilinear"
EXAMPLE = "foundations/bilinear/two_trainings"


@functools.cache
def found() -> list[tuple[Tensor, Tensor]]:
    """Return both pairs of W_Q and W_K, (4, 2) each, that the page's example learns."""
    trained: list[tuple[Tensor, Tensor]] = example(EXAMPLE)["found"]
    return trained


def centred(w_q: Tensor, w_k: Tensor) -> Tensor:
    """Return the product of two factors, each row less its mean, which no softmax sees."""
    product = w_q @ w_k.T
    return product - product.mean(-1, keepdim=True)


_CELL, _HIGH, _GAP, _LEFT = 36, 28, 16, 50


def factors(language: str) -> str:
    """Draw the factors that two trainings end with, and their products."""
    text = texts(__file__, "factors", language)
    drawing = canvas(372, 344)
    for run, (w_q, w_k) in enumerate(found()):
        top = 48 + 180 * run
        group = drawsvg.Group(data_run=run)
        write(
            group,
            text["run"].format(number=run + 1),
            0,
            top - 38,
            text_anchor="start",
            font_weight="bold",
        )
        left = _LEFT
        for name, matrix in (("Q", w_q), ("K", w_k), ("W", centred(w_q, w_k))):
            width = _CELL * matrix.size(1)
            write(group, text[name], left + width / 2, top - (28 if name == "W" else 12), 12)
            _matrix(group, matrix, name, left, top)
            left += width + _GAP
        for row, kind in enumerate(KINDS):
            write(group, text[kind], _LEFT - 6, top + (row + 0.5) * _HIGH, 12, text_anchor="end")
            column = _LEFT + 4 * _CELL + 2 * _GAP + (row + 0.5) * _CELL
            write(group, text[kind], column, top - 9, 11)
        drawing.append(group)
    same = f"{(centred(*found()[0]) - centred(*found()[1])).abs().max():.1f}"
    desc = text["desc"].format(difference=same)
    return finish(drawing.as_svg(header=""), f"{KEY}-factors", text["title"], desc, zoom=1.35)


def _matrix(group: drawsvg.Group, matrix: Tensor, name: str, left: float, top: float) -> None:
    """Draw a matrix as cells with their numbers, one colour above zero and another below."""
    for row, line in enumerate(matrix.tolist()):
        for column, number in enumerate(line):
            x, y = left + column * _CELL, top + row * _HIGH
            look = {"fill": ACCENT if number > 0 else ACCENT_2, "stroke": INK}
            look |= {"fill_opacity": round(SHADE * abs(number) / 3, 4), "stroke_opacity": 0.35}
            group.append(drawsvg.Rectangle(x, y, _CELL, _HIGH, **look))
            label = f"{number:.1f}".replace("-", "−")
            where = {"data_cell": f"{name},{row},{column}"}
            write(group, label, x + _CELL / 2, y + _HIGH / 2, 12, **where)


@functools.cache
def trained(seed: int = 0) -> tuple[Tensor, ...]:
    """Return, of each head, what its matrix makes of each two positions, as weights (n, n).

    The seed decides the initial weights and the rows.
    """
    torch.manual_seed(seed)
    layer = MultiHeadAttention(32, num_heads=2)
    with one_thread():
        model = NextWord(layer).double()
        fit(model, seed=seed)
    w_q, w_k = (proj.weight.unflatten(0, (2, 16)).mT for proj in (layer.q_proj, layer.k_proj))
    scores = (model.places @ w_q @ w_k.mT @ model.places.mT / 16**0.5).detach()
    future = torch.ones(LENGTH, LENGTH, dtype=torch.bool).triu(1)
    return tuple(scores.masked_fill(future, -torch.inf).softmax(-1))


def learned() -> Tensor:
    """Return the weights (n, n) of the head that is drawn, the first of the first training."""
    return trained()[0]


def places_back() -> list[set[int]]:
    """Return how far back the best keys stand, for each head of ten trainings."""
    own = torch.arange(LENGTH)
    return [
        set((own - head.argmax(-1))[3:].tolist()) for seed in range(10) for head in trained(seed)
    ]


def positions(language: str) -> str:
    """Draw what the matrix of the trained head makes of each two positions."""
    text = texts(__file__, "positions", language)
    weights, side, left, top = learned(), 24, 84, 46
    drawing = canvas(left + LENGTH * side + 4, top + LENGTH * side + 4)
    write(drawing, f"{text['asks']} ↓", left - 12, 30, 12, text_anchor="end")
    write(drawing, f"{text['offers']} →", left + LENGTH * side / 2, 10, 12)
    for i in range(LENGTH):
        write(drawing, str(i), left + (i + 0.5) * side, 32, 12)
        write(drawing, str(i), left - 14, top + (i + 0.5) * side, 12)
        for j in range(i + 1):
            place = (left + j * side + 1, top + i * side + 1, side - 2, side - 2)
            drawing.append(drawsvg.Rectangle(*place, rx=2, fill=SOFT))
            weight = weights[i, j].item()
            look = {"fill": ACCENT, "fill_opacity": round(weight, 2)}
            drawing.append(drawsvg.Rectangle(*place, rx=2, **look, data_weight=f"{weight:.2f}"))
    desc = text["desc"].format(back=f"{three_back():.0f}")
    return finish(drawing.as_svg(header=""), f"{KEY}-positions", text["title"], desc)


def three_back() -> float:
    """Return the percentage of the weight that falls three places back, from position 3 on."""
    return 100 * learned().diagonal(-3).mean().item()


def numbers() -> dict[str, str]:
    """Return what the chapter says of the trained heads."""
    heads = places_back()
    return {
        "three_back": f"{three_back():.0f}",
        "heads": f"{len(heads)}",
        "clean_heads": f"{sum(back == {3} for back in heads)}",
        "other_heads": f"{sum(back == {3, 7} for back in heads)}",
        "idle_heads": f"{sum(7 not in back and back != {3} for back in heads)}",
    }


FIGURES: dict[str, Callable[[str], str]] = {"positions": positions, "factors": factors}
