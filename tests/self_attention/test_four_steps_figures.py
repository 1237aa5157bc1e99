"""The figures on self-attention show the numbers, weights and times they claim."""

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
def test_the_table_shows_what_was_measured(language: str) -> None:
    stored = load(tables.__file__)["fused"]
    rows = tables.fused(language).partition("\n\n")[0].splitlines()[2:]
    assert len(rows) == len(tables.SIZES) == 4
    for row, (batch, words, size) in zip(rows, tables.SIZES, strict=True):
        of = {"batch": batch, "words": words, "size": size}
        wanted = [f"{stored('time', run=run, **of):.2f}×" for run in RUNS]
        assert row.strip("| ").split(" | ") == [f"{batch} × {words} × {size:,}", *wanted]


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
