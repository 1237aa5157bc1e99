"""The figures on rotary positions show what the function does."""

import cmath
import itertools
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
    for panel, (cat, chased) in zip(panels.values(), figures.PLACES, strict=True):
        lines = {line.get("data-vector"): vector(line) for line in marked(panel, "data-vector")}
        query = complex(*figures.QUERY) * cmath.exp(1j * chased)
        key = complex(*figures.KEY_VECTOR) * cmath.exp(1j * cat)
        assert abs(lines["query"] / figures.UNIT - query) < 0.01
        assert abs(lines["key"] / figures.UNIT - key) < 0.01
        angles.append(cmath.phase(lines["query"] / lines["key"]))
        said = [text.text.replace("−", "-").split()[-1] for text in panel.iter(f"{SVG}text")]
        assert f"{(query * key.conjugate()).real:.2f}" in said
        assert f"{abs(math.degrees(angles[-1])):.0f}°" in said
    assert angles[0] == pytest.approx(angles[1], abs=0.01)
    assert abs(angles[0] - angles[2]) > 0.5
    near, far = 7 * math.cos(1) + math.sin(1), 7 * math.cos(2) - math.sin(2)
    shown = [f"{near:.2f}", f"{near:.2f}", f"{far:.2f}".replace("-", "−")]
    assert re.findall(r"−?\d\.\d\d", parse("same-distance", language)[1].text) == shown


@languages
def test_the_shaded_angle_reaches_from_one_hand_to_the_other(language: str) -> None:
    for panel in groups("same-distance", language, "data-panel").values():
        (sector,) = marked(panel, "data-sector")
        x, y, x1, y1, *_, x2, y2 = map(float, re.findall(r"-?[\d.]+", sector.attrib["d"]))
        ends = {cmath.phase(complex(x1 - x, y - y1)), cmath.phase(complex(x2 - x, y - y2))}
        hands = {cmath.phase(vector(line)) for line in marked(panel, "data-vector")}
        assert sorted(ends) == pytest.approx(sorted(hands), abs=0.01)


@languages
def test_dials_show_each_pair_at_its_speed(language: str) -> None:
    root, seen = parse("dials", language), []
    for group in (g for g in root.iter(f"{SVG}g") if "data-pair" in g.attrib):
        pair, position = int(group.attrib["data-pair"]), int(group.attrib["data-position"])
        (hand,) = marked(group, "data-hand")
        angle = position * 10000 ** (-2 * pair / figures.DIAL_DIM)
        assert abs(vector(hand) / 20 - cmath.exp(1j * angle)) < 0.01
        seen.append((position, pair))
    assert seen == list(itertools.product(figures.DIAL_POSITIONS, figures.DIAL_PAIRS))
    shown = [text.text for text in root.iter(f"{SVG}text")]
    for pair in figures.DIAL_PAIRS:
        assert f"{2 * math.pi * 10000 ** (pair / 32):,.0f}" in shown


@languages
@pytest.mark.parametrize(("panel", "last"), [("near", 24), ("far", 4096)])
def test_curves_are_the_mean_of_the_cosines(panel: str, last: int, language: str) -> None:
    parts = groups("carry", language, "data-part")
    left = 32 if panel == "near" else 222
    for half, pairs in (("fast", range(16)), ("slow", range(16, 32))):
        band = (panel, half) == ("far", "fast")
        path = next(parts[f"{panel}-{half}"].iter(f"{SVG}path"))
        points = re.findall(r"[ML] ([\d.-]+) ([\d.-]+)", path.attrib["d"])
        distances = [round((float(x) - left) / 160 * last) for x, _ in points]
        assert max(distances) == last
        for distance, (_, y) in zip(distances, points, strict=True):
            seen = [
                sum(math.cos((at - 1) * 10000 ** (-i / 32)) for i in pairs) / 16
                for at in range(distance, distance + (64 if band else 1))
            ]
            ends = [30 + 144 * (1.08 - score) / 1.68 for score in (min(seen), max(seen))]
            assert min(abs(float(y) - end) for end in ends) < 0.2
        if band:
            assert distances.count(last) >= 2
            assert float(path.attrib["fill-opacity"]) < 0.5  # the slow curve runs through it


@languages
def test_ticks_stand_at_wavelengths_on_their_side_of_the_context(language: str) -> None:
    rows = groups("contexts", language, "data-model")
    assert list(rows) == [model.name for model in tables.MODELS]
    for model in tables.MODELS:
        waves = [
            2 * math.pi * model.theta ** (2 * i / model.rotary_dim)
            for i in range(model.rotary_dim // 2)
        ]
        sides = {
            path.attrib["data-side"]: re.findall(r"M([\d.]+)", path.attrib["d"])
            for path in marked(rows[model.name], "data-side")
        }
        inside, outside = (list(map(float, sides[side])) for side in ("inside", "outside"))
        assert inside + outside == pytest.approx(list(map(figures.place, waves)), abs=0.02)
        assert len(inside) == sum(wave <= model.context for wave in waves)
        (line,) = marked(rows[model.name], "data-context")
        x = float(line.attrib["d"].removeprefix("M").partition(",")[0])
        assert x == pytest.approx(figures.place(model.context), abs=0.02)
        said = [text.text for text in rows[model.name].iter(f"{SVG}text")]
        assert f"{model.context:,}" in said
        assert any(
            re.findall(r"\d+", text)
            in ([str(len(inside)), str(len(waves))], [str(len(waves)), str(len(inside))])
            for text in said
        )


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
