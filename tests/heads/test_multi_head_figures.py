"""The figures on multi-head attention show the arrays and weights they claim, a table the times."""

import math
import re
import statistics
from xml.etree import ElementTree as ET

import pytest
import torch

from attn_docs import merge_heads, split_heads
from docs._kit.measure import kernel_of, one_thread
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
def test_sentence_shows_both_heads(language: str) -> None:
    root = parse(figures.FIGURES["sentence"](language))
    groups = [group for group in root.iter("g") if "data-head" in group.attrib]
    for group, weights in zip(groups, figures.sentence_weights(), strict=True):
        written = [text.text for text in group.iter("text") if text.text[0].isdigit()]
        assert written == [f"{weight:.2f}" for weight in weights.flatten()]
        shades = [
            float(cell.get("fill-opacity")) for cell in group.iter("rect") if cell.get("data-row")
        ]
        assert shades == pytest.approx((0.45 * weights).flatten().tolist(), abs=0.006)
    who, what = figures.sentence_weights()
    assert who[3].argmax() == 1  # cat
    assert set(what[3].topk(2).indices.tolist()) == {2, 4}  # sleeps, dreams
    assert who[1].tolist() == pytest.approx([0.2] * 5)  # "cat" looks for no noun


@pytest.mark.parametrize(("layer", "head"), figures.SHOWN)
@languages
def test_maps_are_shaded_by_the_stored_weights(language: str, layer: int, head: int) -> None:
    group = part(parse(figures.FIGURES["attention-maps"](language)), f"map-{layer}-{head}")
    frame, *seen = group.iter("rect")
    left, top = float(frame.attrib["x"]), float(frame.attrib["y"])
    size = float(frame.attrib["width"]) / len(figures.SENTENCE)
    shades = torch.zeros(len(figures.SENTENCE), len(figures.SENTENCE))
    for cell in seen:
        row, column = (
            round((float(cell.attrib[k]) - o) / size) for k, o in (("y", top), ("x", left))
        )
        shades[row, column] = float(cell.attrib["fill-opacity"])
    weights = figures.trained_weights(layer, head)
    torch.testing.assert_close(shades, weights, atol=0.006, rtol=0.0)
    assert weights.triu(1).eq(0).all()  # the model is causal
    assert weights.sum(-1).min() > 0.6  # what is not stored is small


def test_the_first_trained_head_looks_at_the_character_before() -> None:
    assert figures.trained_weights(1, 1).diagonal(-1).min() > 0.8


@languages
def test_how_many_has_a_dot_for_each_model(language: str) -> None:
    root = parse(figures.FIGURES["how-many"](language))
    heights = {}
    for count, found in tables.losses().items():
        dots = list(part(root, f"heads-{count}").iter("path"))
        places = [re.findall(r"[\d.]+", dot.attrib["transform"]) for dot in dots]
        assert len(places) == len(found) == len(benchmark.SEEDS)
        heights |= {loss: float(y) for loss, (_, y) in zip(found, places, strict=True)}
    losses = sorted(heights)
    assert [heights[loss] for loss in losses] == sorted(heights.values(), reverse=True)


def test_the_sentences_on_the_trained_models_hold() -> None:
    means = {count: statistics.mean(found) for count, found in tables.losses().items()}
    assert min(means, key=lambda count: means[count]) == 4
    assert means[64] > means[16] > means[1]
    better = [one < four for one, four in zip(tables.losses()[1], tables.losses()[4], strict=True)]
    assert better.count(True) == 1
    jobs = load(str(benchmark.__file__))["jobs"]
    before = [jobs("one before", layer=1, head=head) for head in (1, 4)]
    assert min(before) > 0.8  # both look mostly at the same place, and one is missed far more
    assert tables.rise_without(1, 1) > 5 * tables.rise_without(1, 4)
    parameters = {value["parameters"] for value in load(str(benchmark.__file__))["trained"].values}
    assert len(parameters) == 1


def test_a_model_learns_and_a_removed_head_is_put_back() -> None:
    train = page_module("heads/multi-head", "train")
    with one_thread():
        book = train.read_book()
        model = train.train(book, 4, 0, 20)
        with torch.no_grad():
            pieces = book.pieces(8)
            assert model.fit(pieces) < math.log(len(book.alphabet))
            before = model.attentions[0].out_proj.weight.clone()
            without = benchmark.loss_without(model, 0, 1, pieces)
            assert without != model.fit(pieces)
            assert torch.equal(model.attentions[0].out_proj.weight, before)
            scores, weights = model.run(pieces[:, :-1])
            loss = torch.nn.functional.cross_entropy(scores.flatten(0, 1), pieces[:, 1:].flatten())
            torch.testing.assert_close(loss, model.fit(pieces))
            assert weights[0].shape == (8, 4, train.CONTEXT, train.CONTEXT)
    assert not set(book.encode("the cat").tolist()) - set(range(len(book.alphabet)))


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
    monkeypatch.setattr(benchmark, "COUNTS", (4,))
    monkeypatch.setattr(benchmark, "SEEDS", (0,))
    monkeypatch.setattr(benchmark, "STEPS", 5)
    fresh = benchmark.measure()
    for name, stored in load(str(benchmark.__file__)).items():
        kinds = [
            {(value.get("run"), value["quantity"], value["unit"]) for value in found.values}
            for found in (stored, fresh[name])
        ]
        assert kinds[0] == kinds[1]


def test_both_layers_call_the_same_function_but_in_evaluation() -> None:
    calls = benchmark.calls(2, 5, 12, 2)
    same = {run: kernel_of(ours) == kernel_of(theirs) for run, ours, theirs in calls}
    assert same == {run: run != "evaluation" for run in benchmark.RUNS}
