"""Figures of the chapter on scoring functions."""

import itertools
from collections.abc import Callable

import drawsvg
import torch
import torch.nn.functional as F
from torch import Tensor

from attn_docs import GaussianAttention
from docs._kit.draw import ACCENT, INK, SHADE, canvas, finish, write
from docs._kit.text import texts

KEY = "foundations-scoring-functions"
QUERY = (2.0, 2.0)
KEYS = {"long": (6.0, 1.0), "aligned": (1.0, 1.0), "near": (3.0, 2.0)}
LOW, HIGH, STEP, CELL = -4.0, 8.0, 1 / 3, 4

SCORES: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "dot": lambda query, key: query @ key.mT,
    "cosine": lambda query, key: F.normalize(query, dim=-1) @ F.normalize(key, dim=-1).mT,
    "gaussian": GaussianAttention(width=1.0).score,
    "l1": lambda query, key: -torch.cdist(query, key, p=1),
}
# where a score's shade changes; the same number of bands for each
EDGES = {
    "dot": (-8, 0, 8, 16, 24),
    "cosine": (-0.5, 0, 0.5, 0.8, 0.95),
    "gaussian": (-30, -20, -12, -6, -2),
    "l1": (-11, -9, -7, -5, -2),
}
BANDS = 6


def score_map(name: str) -> Tensor:
    """Return the score of the query for keys on a grid: rows from the top, so y falls."""
    line = torch.arange(LOW, HIGH + STEP / 2, STEP, dtype=torch.float64)
    places = torch.cartesian_prod(line.flip(0), line).flip(-1)  # row by row, (x, y)
    query = torch.tensor([[QUERY]], dtype=torch.float64)
    return SCORES[name](query, places.unsqueeze(0)).view(len(line), len(line))


def bands(name: str) -> Tensor:
    """Return the band of each place of a map, 0 to 5: how many edges its score has passed."""
    edges = torch.tensor(EDGES[name], dtype=torch.float64)
    return torch.bucketize(score_map(name) + 1e-9, edges)


def key_scores(name: str) -> dict[str, float]:
    """Return the score of each of the three keys."""
    query = torch.tensor([[QUERY]], dtype=torch.float64)
    key = torch.tensor([list(KEYS.values())], dtype=torch.float64)
    return dict(zip(KEYS, SCORES[name](query, key).flatten().tolist(), strict=True))


def winner(name: str) -> str:
    """Return the word whose key has the highest score."""
    scores = key_scores(name)
    return max(scores, key=scores.__getitem__)


def score_maps(language: str) -> str:
    """Draw the four scores as maps over the position of the key."""
    text = texts(__file__, "score-maps", language)
    drawing = canvas(352, 424)
    for index, name in enumerate(SCORES):
        row, column = divmod(index, 2)
        group = drawsvg.Group(data_score=name, data_winner=winner(name))
        _panel(group, name, text, 22 + 176 * column, 40 + 188 * row)
        drawing.append(group)
    write(drawing, text["y"], 0, 8, 12, text_anchor="start")
    write(drawing, f"{text['x']} →", 348, 414, 12, text_anchor="end")
    desc = text["desc"].format(**{name: text[winner(name)] for name in SCORES})
    return finish(drawing.as_svg(header=""), f"{KEY}-score-maps", text["title"], desc, zoom=1.6)


def _panel(group: drawsvg.Group, name: str, text: dict[str, str], left: float, top: float) -> None:
    places = bands(name).tolist()
    size = len(places) * CELL
    write(group, text[name], left + size / 2, top - 10, 13, font_weight="bold")
    for band in range(1, BANDS):
        opacity = SHADE * band / (BANDS - 1)
        look = {"stroke": ACCENT, "stroke_opacity": opacity, "stroke_width": CELL}
        shape = drawsvg.Path(fill="none", data_band=band, **look)  # a line as wide as a cell
        for y, line in enumerate(places):
            x = 0
            for value, run in itertools.groupby(line):
                width = len(list(run))
                if value == band:
                    shape.M(left + x * CELL, top + (y + 0.5) * CELL).h(width * CELL)
                x += width
        group.append(shape)
    frame = {"fill": "none", "stroke": INK, "stroke_opacity": 0.35}
    group.append(drawsvg.Rectangle(left, top, size, size, **frame))

    def place(x: float, y: float) -> tuple[float, float]:
        scale = CELL / STEP
        return left + (x - LOW) * scale + CELL / 2, top + (HIGH - y) * scale + CELL / 2

    for tick in (-4, 0, 4, 8):
        label = str(tick).replace("-", "−")
        write(group, label, place(tick, 0)[0], top + size + 9, 11)
        write(group, label, left - 4, place(0, tick)[1], 11, text_anchor="end")
    x, y = place(*QUERY)
    group.append(drawsvg.Rectangle(x - 3, y - 3, 6, 6, fill=INK, data_point="q"))
    write(group, "q", x - 9, y - 8, 12, font_weight="bold")
    for word, key in KEYS.items():
        x, y = place(*key)
        group.append(drawsvg.Rectangle(x - 3, y - 3, 6, 6, rx=3, fill=INK, data_point=word))
        bold = {"font_weight": "bold"} if word == winner(name) else {}
        if bold:
            ring = {"fill": "none", "stroke": INK, "stroke_width": 1.5}
            group.append(drawsvg.Rectangle(x - 6, y - 6, 12, 12, rx=6, **ring))
        side = {
            "near": (-4, -12, "start"),
            "aligned": (8, 13, "end"),
            "long": (-5, 13, "middle"),
        }
        across, down, anchor = side[word]  # clear of q, of the frame and of each other
        label = f"{text[word]} {key_scores(name)[word]:.2g}".replace("-", "−")
        write(group, label, x + across, y + down, 11, text_anchor=anchor, **bold)


FIGURES: dict[str, Callable[[str], str]] = {
    "score-maps": score_maps,
}
