"""The figures and tables of the chapter on windows, against the package."""

import math
from itertools import pairwise

import pytest
import torch

from attn_docs import sliding_window_mask
from attn_docs.sentence import WORDS
from docs._kit.examples import example
from docs._kit.measured import load
from docs._tools.page import page_module
from tests.kit import parse, read_off

benchmark = page_module("checkpoints/window", "benchmark")
figures = page_module("checkpoints/window", "figures")
tables = page_module("checkpoints/window", "tables")

languages = pytest.mark.parametrize("language", ["en", "zh"])


def drawn(name: str, part: str, language: str, *, log_x: bool = False, log_y: bool = False):
    """Return what a chart's line goes through, its places read off the axes."""
    root = parse(figures.FIGURES[name](language))
    (group,) = (e for e in root.iter() if e.get("data-part") == part)
    (line,) = (e for e in group.iter() if e.get("d"))
    x, y = read_off(root, "x", log=log_x), read_off(root, "y", log=log_y)
    places = [float(v) for v in line.get("d").replace("M", " ").replace("L", " ").split()]
    return [(x(a), y(b)) for a, b in zip(places[::2], places[1::2], strict=True)]


@languages
def test_the_masks_are_those_of_the_package(language: str) -> None:
    root = parse(figures.masks(language))
    groups = {e.get("data-mask"): e for e in root.iter() if e.get("data-mask")}
    assert list(groups) == list(figures.MASKS)
    for name, setting in figures.MASKS.items():
        shown = [e for e in groups[name].iter() if e.get("data-row")]
        seen = [float(e.get("fill-opacity")) > 0 for e in shown]
        assert seen == sliding_window_mask(8, **setting).flatten().tolist()


@languages
def test_the_lines_between_words_are_the_mask(language: str) -> None:
    root = parse(figures.path(language))
    lines = [e for e in root.iter("path") if e.get("data-layer")] or [
        e for e in root.iter() if e.get("data-layer")
    ]
    found = {tuple(int(e.get(f"data-{k}")) for k in ("layer", "to", "from")) for e in lines}
    mask = sliding_window_mask(len(WORDS), window=figures.WINDOW)
    assert found == {(a, int(i), int(j)) for a in (1, 2) for i, j in mask.nonzero()}
    for start, end in pairwise(figures.PATH):
        assert mask[end, start]
    assert not mask[figures.PATH[-1], figures.PATH[0]]


def test_the_slots_are_those_of_the_rule() -> None:
    for t, row in enumerate(figures.held()):
        wanted = {0: 0} if t >= 0 else {}
        for s in range(1, t + 1):
            wanted[1 + (s - 1) % 4] = s
        assert row == [wanted.get(slot) for slot in range(5)]


def test_the_lines_of_reach_end_where_the_layers_do() -> None:
    gradient = example("checkpoints/window/reach")["gradient"]
    for layers in (1, 2, 3, 4):
        sizes = gradient(layers)
        assert int(sizes.nonzero().max()) == 7 * layers
        assert bool((sizes[: 7 * layers + 1] > 0).all())


@languages
def test_the_chart_of_the_cut_is_what_the_model_loses(language: str) -> None:
    found = figures.by_place()
    for name, nats in found.items():
        line = drawn("cut", name, language)
        assert [x for x, _ in line] == pytest.approx(list(figures.PLACES), abs=0.05)
        assert [y for _, y in line] == pytest.approx(nats[:-1], abs=0.01)
        (group,) = (
            e for e in parse(figures.cut(language)).iter() if e.get("data-part") == f"{name}-last"
        )
        (mark,) = (e.get("d") for e in group.iter() if e.get("d"))
        assert (150 - float(mark.split()[-1])) / 122 * 8 == pytest.approx(nats[-1], abs=0.1)
    full = figures.PLACES.index(benchmark.BEGIN)  # the last before the newline leaves
    assert found["window"][: full + 1] == pytest.approx(found["all"][: full + 1], abs=1e-4)
    assert found["first"] == pytest.approx(found["all"], abs=0.01)
    assert min(found["window"][full + 1 :]) > 0.19
    assert found["all"][-1] < 0.0003


def test_the_last_newline_is_taken_for_a_space() -> None:
    whole, cut = (tables.lost(tables.model(**setting)) for setting in ({}, {"window": 100}))
    end = tables.ends()
    assert int(end.sum()) == tables.JUDGED
    assert bool((tables.held_out()[1][end] == 0).all())
    assert whole[end].max() < 0.01
    assert cut[end].mean() > 2 * math.log(29)
    found = tables.at_the_cut()
    assert (found["end"], found["soon"], found["space"]) == ("7.3", "6", "99.8%")


def test_two_of_the_four_heads_lean_on_the_newline() -> None:
    weights, even = tables.newline_weight()
    assert max(weights[:2]) < 3 * even
    assert min(weights[2:]) > 8 * even


def test_what_was_measured_bears_the_sentences_out() -> None:
    time = load(tables.__file__)["time"]
    assert time("time", way="mask") > 1.5 * time("time", way="causal")
    assert time("time", way="blocks") < 0.5 * time("time", way="causal")
    assert time("time", way="flex") < 0.5 * time("time", way="causal")
    losses = {name: tables.mean("loss", name) for name in benchmark.LAYERS}
    assert losses["local-local"] > 1.15 * losses["global-global"]
    for mixed in ("local-global", "global-local"):
        assert losses[mixed] == pytest.approx(losses["global-global"], rel=0.03)
    found_of = load(tables.__file__)["layers"]
    for kind, blind in (("dream", math.log(12)), ("colour again", math.log(5))):
        for mixed in ("local-global", "global-local"):
            found = [found_of(kind, layers=mixed, seed=seed) for seed in benchmark.SEEDS]
            assert max(found) < 0.6 * blind
    assert tables.mean("owner", "local-local") > math.log(8) - 0.2  # a guess among eight
    assert tables.mean("dream", "local-local") > math.log(12) - 0.2  # and among twelve dreams


def test_the_ways_that_are_timed_compute_the_same() -> None:
    rows = torch.randn(3, 1, 2, 300, 16, dtype=torch.float64).unbind()
    windowed = example("checkpoints/window/blocks")["windowed"]
    mask = sliding_window_mask(300, window=64)
    wanted = torch.nn.functional.scaled_dot_product_attention(*rows, mask)
    assert torch.allclose(windowed(*rows, 64, 64), wanted, atol=1e-12)


@languages
def test_tables_have_a_row_for_each_case(language: str) -> None:
    for name in tables.TABLES:
        assert "TODO" not in tables.TABLES[name](language)
    assert tables.counts(language).count("\n") + len(tables.UNSHOWN) == 1 + len(
        example("checkpoints/window/counts")["found"]
    )
    assert tables.first(language).count("\n| ") == 7
