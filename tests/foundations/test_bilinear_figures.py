"""The figures on bilinear attention show the stage and the variances they claim."""

import math
import re
from xml.etree import ElementTree as ET

import pytest
import torch

from attn_docs.sentence import projections
from docs._tools.page import page_module
from tests.kit import parse

figures = page_module("foundations/bilinear", "figures")


languages = pytest.mark.parametrize("language", ["en", "zh"])


@languages
def test_the_factors_differ_and_their_products_agree(language):
    root = parse(figures.FIGURES["factors"](language))
    runs = [g for g in root.iter("g") if "data-run" in g.attrib]
    first, second = (
        {e.attrib["data-cell"]: e.text for e in run.iter("text") if "data-cell" in e.attrib}
        for run in runs
    )
    w_q, w_k, _ = projections(sharpness=4.0)
    wanted = (w_q @ w_k.T)[:4, :4]
    wanted = wanted - wanted.mean(-1, keepdim=True)
    for cell, text in first.items():
        name, row, column = cell.split(",")
        if name == "W":
            number = f"{wanted[int(row), int(column)].item():.1f}".replace("-", "−")
            assert text == second[cell] == number
        else:
            assert text != second[cell]


def predicted(start: str, divisor: str, d: int) -> float:
    """Return d_q·d_k·σ² over the squared divisor."""
    pairs = d * 2 * d
    entry = pairs**-0.5 if start == "small" else 1.0
    return pairs * entry / (pairs**0.5 if divisor == "fourth" else pairs)


@pytest.mark.parametrize("start", figures.STARTS)
@pytest.mark.parametrize("divisor", figures.DIVISORS)
def test_measured_variance_is_the_derived_one(start, divisor):
    for d, measured in zip(figures.SIZES, figures.measure_variance(start, divisor), strict=True):
        assert measured == pytest.approx(predicted(start, divisor, d), rel=0.25 if d < 8 else 0.08)


def test_numbers_are_the_last_measurements():
    numbers = figures.numbers()
    assert float(numbers.pop("three_back")) == round(figures.three_back()) > 90
    drawn = {name: text for name, text in numbers.items() if not name.endswith("heads")}
    for name, text in drawn.items():
        start, divisor, d = name.split("_")
        assert float(text) == pytest.approx(predicted(start, divisor, int(d)), rel=0.06)


def axis(root: ET.Element, labels: set[str], coordinate: str, other: tuple[float, float]):
    """Return the function from a place to a value, read from the tick labels between bounds."""
    across = "y" if coordinate == "x" else "x"
    places = sorted(
        (float(t.attrib[coordinate]), float(t.text))
        for t in root.iter("text")
        if re.fullmatch(r"[\d.]+", t.text or "")
        and other[0] < float(t.attrib[across]) < other[1]
        and t.text in labels
    )
    (first, low), (last, high) = places[0], places[-1]
    slope = (math.log(high) - math.log(low)) / (last - first)
    for place, value in places:
        assert math.log(low) + slope * (place - first) == pytest.approx(math.log(value), abs=0.02)
    return lambda place: math.exp(math.log(low) + slope * (place - first))


def panels(root: ET.Element) -> list[tuple[float, float, float]]:
    """Return left, top and bottom of each panel, from the top: the extent of its upright lines."""
    lines = [re.findall(r"-?[\d.]+", path.attrib["d"]) for path in root.findall("path")]
    ends = [tuple(map(float, line)) for line in lines if len(line) == 4]
    upright = [(x, min(y, end), max(y, end)) for x, y, across, end in ends if x == across]
    edges = sorted({(top, bottom) for _, top, bottom in upright})
    return [(min(x for x, *at in upright if tuple(at) == edge), *edge) for edge in edges]


@languages
def test_chart_plots_the_measurements_against_its_ticks(language):
    root = parse(figures.FIGURES["variance"](language))
    for start, (left, top, bottom) in zip(figures.STARTS, panels(root), strict=True):
        to_x = axis(root, {str(d) for d in figures.SIZES}, "x", (bottom, bottom + 18))
        levels = [t for t in root.iter("text") if t.get("text-anchor") == "end"]
        inside = ET.Element("svg")
        inside.extend(t for t in levels if top < float(t.attrib["y"]) < bottom + 5)
        to_y = axis(inside, {"0.01", "0.1", "1", "10", "100"}, "y", (0, left))
        for divisor in figures.DIVISORS:
            (group,) = (g for g in root.iter("g") if g.get("data-part") == f"{start}-{divisor}")
            values = [float(v) for v in re.findall(r"-?[\d.]+", group.find("path").attrib["d"])]
            points = list(zip(values[::2], values[1::2], strict=True))
            measured = figures.measure_variance(start, divisor)
            for (x, y), d, variance in zip(points, figures.SIZES, measured, strict=True):
                assert top <= y <= bottom
                assert to_x(x) == pytest.approx(d, rel=0.02)
                # a label's baseline stands a third of its size below its tick
                assert to_y(y + 4.56) == pytest.approx(variance, rel=0.03)


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_trained_heads_matrix_points_three_places_back(language):
    weights = figures.learned()
    assert (weights.argmax(-1)[3:] == torch.arange(figures.LENGTH - 3)).all()
    drawn = [
        cell.get("data-weight") for cell in parse(figures.FIGURES["positions"](language)).iter()
    ]
    there = weights[torch.ones_like(weights, dtype=torch.bool).tril()]
    assert [float(cell) for cell in drawn if cell] == pytest.approx(there.tolist(), abs=0.006)


def test_each_head_points_three_back_everywhere_or_seven_back_somewhere():
    heads = figures.places_back()
    assert all((back == {3, 7}) or not back >= {3, 7} for back in heads)  # no fourth kind
    numbers = figures.numbers()
    kinds = [int(numbers[f"{kind}_heads"]) for kind in ("clean", "other", "idle")]
    assert sum(kinds) == len(heads) == 20
    assert kinds[2] == 1  # "the last one"
