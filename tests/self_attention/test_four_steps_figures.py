"""The figures on self-attention show the numbers, weights and times they claim."""

import re
from types import SimpleNamespace
from xml.etree import ElementTree as ET

import pytest
import torch
from torch.nn.functional import pad

from attn_docs import SelfAttention
from attn_docs.sentence import MEANINGS, embeddings, projections
from docs._kit.measured import load
from docs._tools.page import page_module
from tests import kit

figures = page_module("self-attention/four-steps", "figures")
tables = page_module("self-attention/four-steps", "tables")
RUNS = ("forward", "both")

languages = pytest.mark.parametrize("language", ["en", "zh"])


def parse(name: str, language: str) -> ET.Element:
    return kit.parse(figures.FIGURES[name](language))


def named(root: ET.Element, attribute: str, name: str) -> ET.Element:
    (group,) = [group for group in root.iter("g") if group.get(attribute) == name]
    return group


def texts(root: ET.Element) -> list[SimpleNamespace]:
    """Return the texts, y being the middle of their height."""
    return [
        SimpleNamespace(
            text=text.text,
            x=float(text.attrib["x"]),
            y=float(text.attrib["y"]) - 0.35 * float(text.attrib["font-size"]),
        )
        for text in root.iter("text")
    ]


def cells(group: ET.Element, dropped: bool = False) -> list[SimpleNamespace]:
    """Return the cells of a group, each with the texts that stand inside it."""
    names = ("x", "y", "width", "height")
    found = []
    for rect in group.iter("rect"):
        if (rect.get("data-dropped") is not None) != dropped:
            continue
        place = SimpleNamespace(element=rect, **{name: float(rect.attrib[name]) for name in names})
        place.inside = [
            text.text
            for text in texts(group)
            if place.x < text.x < place.x + place.width
            and place.y < text.y < place.y + place.height
        ]
        found.append(place)
    return found


def grid(group: ET.Element) -> list[list[SimpleNamespace]]:
    """Return the cells as they are seen: rows from the top, columns from the left."""
    rows: dict[float, list[SimpleNamespace]] = {}
    for cell in cells(group):
        rows.setdefault(cell.y, []).append(cell)
    return [sorted(rows[y], key=lambda cell: cell.x) for y in sorted(rows)]


@languages
def test_each_row_of_it_shows_its_numbers_and_shades_them(language: str) -> None:
    mean = SelfAttention(8, 4, scale=3**-0.5).double().requires_grad_(False)
    x = embeddings().double()
    for name, matrix in zip("qkv", projections(6.0), strict=True):
        layer = mean.get_submodule(f"{name}_proj")
        layer.weight.copy_(pad(matrix, (0, 4 - matrix.size(1))).T)
        layer.bias.zero_()
    found = mean(x[None])[0, 3].tolist()
    wide = [0.0] * 4 + found
    it = x[3].tolist()
    added = [a + b for a, b in zip(it, wide, strict=True)]
    root = parse("widened", language)
    for name, values in (("mean", found), ("wide", wide), ("input", it), ("sum", added)):
        (line,) = grid(named(root, "data-row", name))
        assert len(line) == len(values)
        for cell, value in zip(line, values, strict=True):
            assert len(cell.inside) == 1
            assert float(cell.inside[0]) == pytest.approx(value, abs=0.005)
            opacity = float(cell.element.attrib["fill-opacity"])
            assert opacity == pytest.approx(0.45 * value / max(values), abs=0.006)


@languages
def test_columns_of_it_are_named(language: str) -> None:
    root = parse("widened", language)
    kinds = {
        "en": ["determiner", "noun", "verb", "pronoun"],
        "zh": ["限定词", "名词", "动词", "代词"],
    }[language]
    meanings = {"en": [*MEANINGS], "zh": ["特指", "动物", "睡着", "做梦"]}[language]
    (line,) = grid(named(root, "data-row", "sum"))
    above = [t for t in texts(root) if t.y < 40]
    found = [[t.text for t in above if c.x < t.x < c.x + c.width] for c in line]
    assert found == [[column] for column in kinds + meanings]
    (mean,) = grid(named(root, "data-row", "mean"))
    assert [c.x for c in mean] == [c.x for c in line[4:]]


@languages
@pytest.mark.parametrize("name", ["none", "weights", "scores"])
def test_dropout_maps_show_weights_frames_and_sums(name: str, language: str) -> None:
    root = parse("dropout", language)
    group, weights = named(root, "data-map", name), figures.dropout_maps()[name]
    seen = grid(group)
    for line, row in zip(seen, weights[figures.SHOWN].tolist(), strict=True):
        assert [cell.inside for cell in line] == [[f"{weight:.2f}"] for weight in row]
        sums = [
            text.text
            for text in texts(root)
            if line[0].y < text.y < line[0].y + line[0].height
            and text.x > line[-1].x + line[-1].width
        ]
        assert f"{sum(row):.2f}" in sums[-1]
    framed = sorted(cell.element.attrib["data-dropped"] for cell in cells(group, dropped=True))
    coins = [f"{i},{j}" for i in figures.SHOWN for j in range(5) if not figures.KEEP[i, j]]
    assert framed == ([] if name == "none" else coins)


def test_dropout_maps_say_what_the_chapter_says() -> None:
    maps = figures.dropout_maps()
    assert (maps["weights"][figures.KEEP == 0] == 0).all()
    torch.testing.assert_close(
        maps["weights"][figures.KEEP == 1], 2 * maps["none"][figures.KEEP == 1]
    )
    assert (maps["scores"] > 0).all()
    torch.testing.assert_close(maps["scores"].sum(-1), torch.ones(5).double())


@languages
def test_the_chart_shows_the_measured_table(language: str) -> None:
    root, stored = parse("fused", language), load(figures.__file__)["fused"]
    found = [
        SimpleNamespace(
            rows=batch * words,
            size=size,
            **{run: stored("time", run=run, batch=batch, words=words, size=size) for run in RUNS},
        )
        for batch, words, size in figures.SIZES
    ]
    assert len(found) == 4
    ticks = {
        float(text.text): float(text.attrib["y"])
        for text in root.iter("text")
        if re.fullmatch(r"\d(\.5)?", text.text or "")
    }
    unit = (ticks[0] - ticks[1]) / 1
    for series in RUNS:
        marks = [
            float(re.search(r"translate\(\S+?,(\S+?)\)", path.attrib["transform"])[1])
            for path in named(root, "data-part", series).iter("path")
        ]
        ratios = [getattr(ratio, series) for ratio in found]
        drawn = [(marks[0] - mark) / unit for mark in marks]
        assert drawn == pytest.approx([ratio - ratios[0] for ratio in ratios], abs=0.01)
    shown = {text.text for text in root.iter("text")}
    assert {f"{ratio.rows} × {ratio.size}" for ratio in found} <= shown


# The class that grows


@pytest.mark.parametrize("number", [2, 3, 4])
def test_a_step_is_shown_as_what_it_changes_in_the_whole_class(number):
    lines = tables.step(number).splitlines()[1:-1]
    names = ("grow_1", "grow_2", "grow_3", "grow_4")
    before, after = (tables.class_of(name) for name in names[number - 2 : number])
    for signs, whole, other in (("-", before, after), ("+", after, before)):
        shown = [line[1:] for line in lines if not line or line[0] in f" {signs}"]
        if number == 4:  # the whole class stands below it
            left = iter(whole)
            assert all(line in left for line in shown if line != "…")
        else:
            assert shown == whole
        changed = [line[1:] for line in lines if line.startswith(signs)]
        assert changed == [line for line in whole if line not in other]


def test_the_class_ends_before_the_program_that_tries_it():
    for name in ("grow_1", "grow_2", "grow_3", "grow_4"):
        last = tables.class_of(name)[-1]
        assert last.strip().startswith("return ")
