"""The figures on multi-head attention show the arrays and weights they claim, a table the times."""

import re
import statistics
from xml.etree import ElementTree as ET

import pytest
import torch

from attn_docs import merge_heads, split_heads
from docs._kit.measure import kernel_of
from docs._kit.measured import load
from docs._tools.page import page_module
from tests.kit import parse

benchmark = page_module("heads/multi-head", "benchmark")
figures = page_module("heads/multi-head", "figures")
tables = page_module("heads/multi-head", "tables")

MEASURED = load(str(benchmark.__file__))["against"]
languages = pytest.mark.parametrize("language", ["en", "zh"])


def part(root: ET.Element, name: str) -> ET.Element:
    (found,) = (group for group in root.iter("g") if group.get("data-part") == name)
    return found


def place(element: ET.Element) -> tuple[float, float]:
    """Return the middle of a cell, or of a line of text."""
    x, y = float(element.attrib["x"]), float(element.attrib["y"])
    if element.tag == "text":
        return x, y - 0.35 * float(element.attrib["font-size"])
    return x + float(element.attrib["width"]) / 2, y + float(element.attrib["height"]) / 2


def numbers(group: ET.Element) -> tuple[list[list[int]], list[list[float]]]:
    """Return the numbers as they stand in rows and columns, and the opacities of their cells."""
    cells = sorted(group.iter("rect"), key=lambda cell: place(cell)[::-1])
    written = {tuple(round(c) for c in place(text)): int(text.text) for text in group.iter("text")}
    rows: dict[float, list[ET.Element]] = {}
    for cell in cells:
        rows.setdefault(place(cell)[1], []).append(cell)
    seen = [
        [written[tuple(round(c) for c in place(cell))] for cell in row] for row in rows.values()
    ]
    return seen, [[float(cell.attrib["fill-opacity"]) for cell in row] for row in rows.values()]


@languages
def test_split_and_merge_draws_the_real_arrays(language: str) -> None:
    root = parse(figures.FIGURES["split-and-merge"](language))
    right, wrong = split_heads(figures.X, 2), figures.X.view(1, 2, 3, 2)
    expected = {
        "x": figures.X[0],
        "right-head-1": right[0, 0],
        "right-head-2": right[0, 1],
        "right-merged": figures.X[0],
        "wrong-head-1": wrong[0, 0],
        "wrong-head-2": wrong[0, 1],
        "wrong-merged": merge_heads(wrong)[0],
    }
    for name, array in expected.items():
        seen, shades = numbers(part(root, name))
        assert seen == array.int().tolist()
        for row, line in zip(seen, shades, strict=True):
            assert line == pytest.approx([0.15 * (number // 10) for number in row], abs=0.006)
    assert numbers(part(root, "wrong-head-1"))[0] == [[10, 11], [12, 13], [20, 21]]


@languages
def test_split_and_merge_says_what_it_draws(language: str) -> None:
    desc = parse(figures.FIGURES["split-and-merge"](language)).findtext("desc")
    for row in ("[10 11 12 13]", "[12 13]", "[22 23]", "[10 11 22 23]", "[20 21 32 33]"):
        assert row in desc


@languages
def test_block_diagram_writes_each_shape(language: str) -> None:
    root = parse(figures.FIGURES["block-diagram"](language))
    written = [text.text for text in root.iter("text")]
    for shape, times in {
        "b × n × embed_dim": 2,
        "b × m × kv_dim": 1,
        "b × n × h·d": 2,
        "b × m × h·d": 2,
        "b × h × n × d": 2,
        "b × h × m × d": 2,
    }.items():
        assert written.count(shape) == times
    for name in ("q_proj", "k_proj", "v_proj", "out_proj"):
        assert written.count(name) == 1


def test_one_trained_head_looks_at_the_letter_before_the_other_at_the_marked_one() -> None:
    weights = figures.trained_weights()
    assert weights.shape == (2, 7, 7)
    torch.testing.assert_close(weights.sum(-1), torch.ones(2, 7).double())
    assert weights[0].diagonal(-1).min() > 0.9
    assert weights[1, :, 4].min() > 0.9


@languages
def test_maps_are_shaded_by_the_weights_queries_in_rows(language: str) -> None:
    root = parse(figures.FIGURES["attention-maps"](language))
    weights = figures.trained_weights()
    for index, expected in enumerate([*weights, weights.mean(0)], 1):
        group = part(root, f"map-{index}")
        cells = list(group.iter("rect"))
        left, top = (min(float(cell.attrib[axis]) for cell in cells) for axis in "xy")
        shades = torch.full((7, 7), -1.0)
        for cell in cells:
            row = round((float(cell.attrib["y"]) - top) / 14)
            column = round((float(cell.attrib["x"]) - left) / 14)
            shades[row, column] = float(cell.attrib["fill-opacity"])
        torch.testing.assert_close(shades, expected.float(), atol=0.006, rtol=0.0)
        letters = [text for text in group.iter("text") if text.text in set("abcdefgh")]
        keys = [text.text for text in letters if place(text)[1] < top]
        queries = [text.text for text in letters if place(text)[0] < left]
        assert keys == queries == list("badgefc")
        bold = {text.text for text in letters if text.get("font-weight") == "bold"}
        assert bold == {"e"}


def test_maps_say_where_each_row_is_darkest() -> None:
    desc = parse(figures.FIGURES["attention-maps"]("en")).findtext("desc")
    assert "Head 1: a looks most at b, d looks most at a, g looks most at d" in desc
    assert "Head 2: a looks most at e, d looks most at e, g looks most at e" in desc


@languages
def test_the_table_shows_what_was_measured(language: str) -> None:
    *lines, _, caption, _ = tables.against(language).splitlines()[2:]
    training = []
    for (batch, words, size, heads), line in zip(benchmark.SIZES, lines, strict=True):
        of = {"batch": batch, "words": words, "size": size, "heads": heads}
        ratios = [MEASURED("time", run=run, **of) for run in benchmark.RUNS]
        sizes, *cells = (cell.strip() for cell in line.strip("|").split("|"))
        assert sizes.replace(",", "") == f"{batch} × {words} × {size} × {heads}"
        assert cells == [f"{ratio:.2f}×" for ratio in ratios]
        training += ratios[:4]
    assert re.findall(r"[\d.]+(?=×)", caption) == [
        f"{statistics.geometric_mean(training):.2f}",
        f"{max(training):.2f}",
    ]


def test_the_benchmark_measures_what_is_stored(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(benchmark, "ROUNDS", 1)
    monkeypatch.setattr(benchmark, "SIZES", ((2, 5, 12, 2),))
    stored, fresh = (
        {(value["run"], value["quantity"], value["unit"]) for value in found.values}
        for found in (MEASURED, benchmark.measure()["against"])
    )
    assert fresh == stored


def test_both_layers_call_the_same_function_but_in_evaluation() -> None:
    calls = benchmark.calls(2, 5, 12, 2)
    same = {run: kernel_of(ours) == kernel_of(theirs) for run, ours, theirs in calls}
    assert same == {run: run != "evaluation" for run in benchmark.RUNS}
