"""The score maps show the scores they claim to show."""

import itertools
import re
from xml.etree import ElementTree as ET

import pytest
import torch
from torch import Tensor

from docs._tools.page import page_module

figures = page_module("foundations/scoring-functions", "figures")


SVG = "{http://www.w3.org/2000/svg}"
LABELS = {
    "en": {"long": "long", "aligned": "aligned", "near": "near"},
    "zh": {"long": "长键", "aligned": "同向键", "near": "近键"},
}
QUERY = torch.tensor([2.0, 2.0], dtype=torch.float64)
KEYS = {"long": (6.0, 1.0), "aligned": (1.0, 1.0), "near": (3.0, 2.0)}
WINNERS = {"dot": "long", "cosine": "aligned", "gaussian": "near", "l1": "near"}
languages = pytest.mark.parametrize("language", ["en", "zh"])
scores = pytest.mark.parametrize("name", WINNERS)


def score(name: str, x: Tensor, y: Tensor) -> Tensor:
    """Return the score of keys (x, y), written out."""
    if name == "dot":
        return QUERY[0] * x + QUERY[1] * y
    if name == "cosine":
        return (QUERY[0] * x + QUERY[1] * y) / (QUERY.norm() * torch.hypot(x, y).clamp_min(1e-9))
    across, up = x - QUERY[0], y - QUERY[1]
    return -(across**2 + up**2) / 2 if name == "gaussian" else -(across.abs() + up.abs())


def panel(name: str, language: str) -> ET.Element:
    root = ET.fromstring(figures.FIGURES["score-maps"](language))  # noqa: S314 - our own
    return next(g for g in root.iter(f"{SVG}g") if g.get("data-score") == name)


def frame(group: ET.Element) -> tuple[float, float, float]:
    """Return the frame's left and top, and the side of one of its 37 × 37 cells."""
    rects = list(group.iter(f"{SVG}rect"))
    left, top, width, height = max(
        (tuple(float(rect.attrib[n]) for n in ("x", "y", "width", "height")) for rect in rects),
        key=lambda place: place[2],
    )
    assert width == height
    return left, top, width / 37


def shades(group: ET.Element) -> dict[tuple[int, int], float]:
    """Return the opacity of each shaded cell (column, row)."""
    left, top, cell = frame(group)
    found: dict[tuple[int, int], float] = {}
    for path in group.iter(f"{SVG}path"):
        assert float(path.attrib["stroke-width"]) == cell
        for x, y, width in re.findall(r"M([\d.]+),([\d.]+) h([\d.]+)", path.attrib["d"]):
            row = round((float(y) - top) / cell - 0.5)
            for column in range(round(float(width) / cell)):
                place = (round((float(x) - left) / cell) + column, row)
                assert place not in found
                found[place] = float(path.attrib["stroke-opacity"])
    return found


@languages
@scores
def test_a_darker_place_never_has_a_lower_score(name: str, language: str) -> None:
    found = shades(panel(name, language))
    line = torch.arange(-4, 8.1, 1 / 3, dtype=torch.float64)
    by_shade: dict[float, list[float]] = {}
    for row in range(37):
        for column in range(37):
            value = score(name, line[column], line[36 - row]).item()
            by_shade.setdefault(found.get((column, row), 0.0), []).append(value)
    assert len(by_shade) == 6
    assert max(by_shade) <= 0.45
    ordered = [by_shade[shade] for shade in sorted(by_shade)]
    for lighter, darker in itertools.pairwise(ordered):
        assert max(lighter) <= min(darker) + 1e-6
    for edge, (lighter, darker) in zip(
        figures.EDGES[name], itertools.pairwise(ordered), strict=True
    ):
        assert max(lighter) - 1e-6 <= edge <= min(darker) + 1e-6


@languages
@scores
def test_each_key_has_its_score_beside_it(name: str, language: str) -> None:
    labels = [text.text.replace("−", "-") for text in panel(name, language).iter(f"{SVG}text")]
    for word, place in KEYS.items():
        (label,) = (label for label in labels if label.startswith(f"{LABELS[language][word]} "))
        wanted = score(name, *torch.tensor(place).double()).item()
        assert float(label.split()[1]) == pytest.approx(wanted, abs=0.005)


@languages
@scores
def test_points_lie_where_query_and_keys_are_and_the_winner_is_marked(
    name: str, language: str
) -> None:
    group = panel(name, language)
    left, top, cell = frame(group)
    places = {"q": tuple(QUERY.tolist()), **KEYS}
    middles = {}
    for rect in group.iter(f"{SVG}rect"):
        x, y, width = (float(rect.attrib[n]) for n in ("x", "y", "width"))
        middle = (x + width / 2, y + width / 2)
        middles.setdefault(rect.get("data-point", "ring" if width < 37 * cell else "frame"), middle)
    for point, (x, y) in places.items():
        # cells from −4 to 8 in steps of a third, each around its number
        wanted = (left + ((x + 4) * 3 + 0.5) * cell, top + ((8 - y) * 3 + 0.5) * cell)
        assert middles[point] == pytest.approx(wanted)
    best = max(KEYS, key=lambda word: score(name, *torch.tensor(KEYS[word]).double()).item())
    assert best == WINNERS[name] == group.get("data-winner")
    assert middles["ring"] == pytest.approx(middles[best])
    bold = [t.text for t in group.iter(f"{SVG}text") if t.get("font-weight") == "bold"]
    assert [label.split()[0] for label in bold[1:]] == ["q", LABELS[language][best]]


@languages
def test_the_description_names_the_winners(language: str) -> None:
    desc = figures.FIGURES["score-maps"](language).partition("</desc>")[0]
    named = re.findall("(?:dot product|cosine|Gaussian|negative L1|点积|余弦|高斯|L1) (\\w+)", desc)
    assert named[-4:] == [LABELS[language][best] for best in WINNERS.values()]
