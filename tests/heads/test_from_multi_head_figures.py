"""The figures on conversion show the rows that are pooled and the losses that were measured."""

from xml.etree import ElementTree as ET

import pytest

from docs._tools.page import page_module
from tests.kit import read_off

figures = page_module("heads/from-multi-head", "figures")
conversion = page_module("heads/from-multi-head", "conversion")


SVG = "{http://www.w3.org/2000/svg}"
languages = pytest.mark.parametrize("language", ["en", "zh"])


def drawn(name: str, language: str) -> ET.Element:
    return ET.fromstring(figures.FIGURES[name](language))  # noqa: S314 - our own


@languages
def test_cells_are_the_rows_and_lines_join_the_heads_that_are_pooled(language: str) -> None:
    root = drawn("pooling", language)
    shades: dict[str, dict[tuple[int, int], float]] = {"before": {}, "after": {}}
    for group in root.iter(f"{SVG}g"):
        if "data-matrix" in group.attrib:
            for cell in group.iter(f"{SVG}rect"):
                row = 2 * int(group.attrib["data-head"]) + int(cell.attrib["data-row"])
                where = row, int(cell.attrib["data-column"])
                shades[group.attrib["data-matrix"]][where] = float(cell.attrib["fill-opacity"])
    for name, rows in zip(("before", "after"), figures.key_rows(), strict=True):
        wanted = {(i, j): 0.9 * x for i, row in enumerate(rows) for j, x in enumerate(row)}
        assert shades[name] == pytest.approx(wanted, abs=0.006)
    lines = [e for e in root.iter() if "data-kv" in e.attrib]
    joined = {int(e.attrib["data-head"]): int(e.attrib["data-kv"]) for e in lines}
    assert joined == {0: 0, 1: 0, 2: 1, 3: 1}
    before, after = shades.values()
    for (row, column), shade in after.items():
        head, inner = divmod(row, 2)
        pair = [before[4 * head + 2 * k + inner, column] for k in range(2)]
        assert shade == pytest.approx(sum(pair) / 2, abs=0.011)


@languages
def test_marks_stand_at_the_losses_of_the_choices(language: str) -> None:
    root = drawn("choice", language)
    loss = read_off(root, "x")
    found = {
        group.attrib["data-way"]: sorted(
            loss(float(mark.attrib["x"]) + float(mark.attrib["width"]) / 2)
            for mark in group.iter(f"{SVG}rect")
        )
        for group in root.iter(f"{SVG}g")
        if "data-way" in group.attrib
    }
    assert found.keys() == conversion.choices().keys()
    for way, losses in conversion.choices().items():
        assert found[way] == pytest.approx(sorted(losses), abs=0.001)
    (line,) = (e for e in root.iter() if "data-before" in e.attrib)
    x = float(line.attrib["d"].removeprefix("M").partition(",")[0])
    assert loss(x) == pytest.approx(conversion.losses("none", 4)[0], abs=0.001)
