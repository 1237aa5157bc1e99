"""The figures on rotary positions show what the function does."""

import math
import re
from xml.etree import ElementTree as ET

import pytest
import torch

from attn_docs import apply_rotary
from docs._tools.page import page_module

figures = page_module("position/rotary", "figures")
tables = page_module("position/rotary", "tables")

SVG = "{http://www.w3.org/2000/svg}"
languages = pytest.mark.parametrize("language", ["en", "zh"])


def parse(name: str, language: str) -> ET.Element:
    return ET.fromstring(figures.FIGURES[name](language))  # noqa: S314 - our own


def groups(name: str, language: str, attribute: str) -> dict[str, ET.Element]:
    root = parse(name, language)
    return {g.attrib[attribute]: g for g in root.iter(f"{SVG}g") if attribute in g.attrib}


def marked(root: ET.Element, attribute: str) -> list[ET.Element]:
    return [element for element in root.iter() if attribute in element.attrib]


def vector(line: ET.Element) -> complex:
    x1, y1, x2, y2 = map(float, re.findall(r"[\d.-]+", line.attrib["d"]))
    return complex(x2 - x1, y1 - y2)


@languages
def test_vectors_of_the_same_distance_make_the_same_angle(language: str) -> None:
    panels, angles = groups("same-distance", language, "data-panel"), []
    for panel, (cat, sleeps) in zip(panels.values(), figures.PLACES, strict=True):
        lines = {line.get("data-vector"): vector(line) for line in marked(panel, "data-vector")}
        query = complex(*figures.QUERY) * complex(math.cos(sleeps), math.sin(sleeps))
        key = complex(*figures.KEY_VECTOR) * complex(math.cos(cat), math.sin(cat))
        assert abs(lines["query"] / 14 - query) < 0.01
        assert abs(lines["key"] / 14 - key) < 0.01
        ratio = lines["query"] / lines["key"]
        angles.append(math.atan2(ratio.imag, ratio.real))
        score = (query * key.conjugate()).real
        assert f"{score:.2f}" in [text.text.split()[-1] for text in panel.iter(f"{SVG}text")]
    assert angles[0] == pytest.approx(angles[1], abs=0.01)
    assert abs(angles[0] - angles[2]) > 0.5
    shown = [
        tables.numbers()["score_one"],
        tables.numbers()["score_one"],
        tables.numbers()["score_back"],
    ]
    assert re.findall(r"\d\.\d\d", parse("same-distance", language)[1].text) == shown


@languages
def test_the_second_pair_turns_a_quarter_as_fast(language: str) -> None:
    for pair, group in groups("two-speeds", language, "data-pair").items():
        speed = figures.SLOW_THETA ** (-int(pair) / 2)
        assert speed == (1, 0.25)[int(pair)]
        lines = marked(group, "data-position")
        assert [int(line.attrib["data-position"]) for line in lines] == list(range(figures.TURNS))
        for position, line in enumerate(lines):
            wanted = complex(math.cos(position * speed), math.sin(position * speed))
            assert abs(vector(line) / 56 - wanted) < 0.01


@languages
def test_shades_are_the_cosines(language: str) -> None:
    parts = groups("angles", language, "data-part")
    shades = [float(rect.attrib["fill-opacity"]) for rect in parts["map"].iter(f"{SVG}rect")]
    wanted = [
        (1 + math.cos(position * figures.MAP_THETA ** (-2 * pair / figures.MAP_DIM))) / 2
        for position in range(figures.MAP_POSITIONS)
        for pair in range(figures.MAP_DIM // 2)
    ]
    assert shades == pytest.approx(wanted, abs=0.006)
    legend = [float(rect.attrib["fill-opacity"]) for rect in parts["legend"].iter(f"{SVG}rect")]
    labels = [text.text.replace("−", "-") for text in parts["legend"].iter(f"{SVG}text")][1:]
    assert legend == pytest.approx([(1 + float(label)) / 2 for label in labels], abs=0.006)
    assert "100" in parse("angles", language)[1].text
    assert figures.MAP_THETA == 100


@languages
def test_curves_are_the_mean_of_the_cosines(language: str) -> None:
    parts = groups("distance", language, "data-part")
    for theta in figures.CHART_THETAS:
        (path,) = parts[f"theta-{theta:g}"].iter(f"{SVG}path")
        points = re.findall(r"[ML] ([\d.-]+) ([\d.-]+)", path.attrib["d"])
        assert len(points) > figures.CHART_LENGTH // 2  # points in line are left out
        speeds = [theta ** (-2 * i / figures.CHART_DIM) for i in range(figures.CHART_DIM // 2)]
        for x, y in points:
            distance = round((float(x) - 36) / 290 * (figures.CHART_LENGTH - 1))
            score = sum(math.cos(distance * speed) for speed in speeds) / len(speeds)
            assert float(x) == pytest.approx(
                36 + 290 * distance / (figures.CHART_LENGTH - 1), abs=0.02
            )
            assert float(y) == pytest.approx(24 + 160 * (1.05 - score) / 1.45, abs=0.15)
        assert distance == figures.CHART_LENGTH - 1


@languages
def test_brackets_join_the_numbers_that_the_function_mixes(language: str) -> None:
    root = parse("layouts", language)
    found = {"above": set(), "below": set()}
    for path in marked(root, "data-bracket"):
        row, a, b = path.attrib["data-bracket"].split()
        found[row].add((int(a), int(b)))
    for row, interleaved in (("above", True), ("below", False)):
        for place in range(figures.SIZE):
            unit = torch.zeros(1, 1, 1, figures.SIZE, dtype=torch.float64)
            unit[..., place] = 1
            mixed = apply_rotary(unit, torch.tensor([1]), interleaved=interleaved).flatten()
            (pair,) = [pair for pair in found[row] if place in pair]
            assert sorted(mixed.nonzero().flatten().tolist()) == list(pair)


@languages
def test_lines_lead_to_the_same_number_and_keep_each_pair(language: str) -> None:
    root, rows = parse("layouts", language), groups("layouts", language, "data-row")
    above, below = (
        [int(text.text) for text in rows[row].iter(f"{SVG}text")] for row in ("above", "below")
    )
    assert above == list(range(figures.SIZE))
    assert below == [0, 2, 4, 6, 1, 3, 5, 7]
    lines = marked(root, "data-from")
    assert len(lines) == figures.SIZE
    for line in lines:
        assert above[int(line.attrib["data-from"])] == below[int(line.attrib["data-to"])]
