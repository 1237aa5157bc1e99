"""The figures on the KV cache show what the cache does and the measurement they claim."""

import re
from xml.etree import ElementTree as ET

import pytest
import torch
from torch.nn.attention.bias import causal_lower_right, causal_upper_left

from attn_docs import KVCache
from docs._kit.measured import load
from docs._tools.page import page_module

benchmark = page_module("memory/kv-cache", "benchmark")
figures = page_module("memory/kv-cache", "figures")
tables = page_module("memory/kv-cache", "tables")
STORED = load(benchmark.__file__)["per_word"]

SVG = "{http://www.w3.org/2000/svg}"
languages = pytest.mark.parametrize("language", ["en", "zh"])


def groups(name: str, language: str, attribute: str) -> dict[str, ET.Element]:
    root = ET.fromstring(figures.FIGURES[name](language))  # noqa: S314 - our own
    return {g.attrib[attribute]: g for g in root.iter(f"{SVG}g") if attribute in g.attrib}


def numbers(group: ET.Element) -> list[str]:
    texts = [text.text or "" for text in group.iter(f"{SVG}text")]
    return [text for text in texts if re.fullmatch(r"\d|·", text)]


def shaded(group: ET.Element) -> list[tuple[int, int]]:
    return [
        (int(cell.attrib["data-row"]), int(cell.attrib["data-column"]))
        for cell in group.iter()
        if cell.get("data-row") and float(cell.attrib["fill-opacity"]) > 0
    ]


def test_with_a_cache_each_score_is_made_once_and_without_one_again_and_again() -> None:
    found, tokens = figures.lanes(), len(figures.WORDS)
    for name, sizes in figures.LANES.items():
        times = [[0] * tokens for _ in range(tokens)]
        for step in found[name]:
            for row, line in enumerate(step.scores):
                for column, made in enumerate(line):
                    times[step.first + row][column] += made
        again = [3, 3, 3, 2, 1] if name == "anew" else [1] * tokens  # the prompt in all three calls
        assert times == [[again[i] if j <= i else 0 for j in range(tokens)] for i in range(tokens)]
        new = [3, 4, 5] if name == "anew" else list(sizes)
        assert [step.computed for step in found[name]] == new
        before = [0] * 3 if name == "anew" else [sum(sizes[:i]) for i in range(len(sizes))]
        assert [step.read for step in found[name]] == before


@languages
def test_the_time_line_fills_the_scores_that_are_made(language: str) -> None:
    root = ET.fromstring(figures.FIGURES["timeline"](language))  # noqa: S314 - our own
    drawn = [g for g in root.iter(f"{SVG}g") if "data-way" in g.attrib]
    steps = {(name, i): s for name, ss in figures.lanes().items() for i, s in enumerate(ss)}
    assert len(drawn) == len(steps)
    for group in drawn:
        step = steps[group.attrib["data-way"], int(group.attrib["data-step"])]
        kinds = [cell.attrib["data-kind"] for cell in group.iter() if "data-kind" in cell.attrib]
        wide = [[*line, *[False] * (len(figures.WORDS) - len(line))] for line in step.scores]
        wanted = [
            "none" if not made else "read" if column < step.read else "computed"
            for line in wide
            for column, made in enumerate(line)
        ]
        assert kinds == wanted
        texts = " ".join(text.text or "" for text in group.iter(f"{SVG}text"))
        assert re.findall(r"\d+", texts)[-2:] == [str(step.computed), str(step.read)]


@languages
def test_the_ring_holds_the_last_words(language: str) -> None:
    rows, cache = (
        groups("ring", language, "data-step"),
        KVCache(1, 1, 1, figures.STEPS, window=figures.RING),
    )
    for t in range(figures.STEPS):
        kept = cache.key_positions(1).tolist()
        cache.update(*torch.zeros(2, 1, 1, 1, 1).unbind())
        shown = numbers(rows[str(t)])
        assert shown == [str(word) for word in kept] + ["·"] * (figures.RING - len(kept))
        assert shaded(rows[str(t)]) == [(0, t % figures.RING)]
        assert figures.held()[t] == [*kept, *[None] * (figures.RING - len(kept))]


@languages
def test_the_matrices_are_pytorchs_two_alignments(language: str) -> None:
    grids = groups("alignment", language, "data-matrix")
    biases = {"upper": causal_upper_left, "lower": causal_lower_right}
    found = figures.alignments()
    assert found.keys() == {f"{kind} {phase}" for kind in biases for phase in figures.ALIGNED}
    for name, matrix in found.items():
        kind, phase = name.split()
        wanted = biases[kind](*figures.ALIGNED[phase])._materialize(torch.device("cpu"))
        assert matrix.bool().tolist() == wanted.tolist()
        assert numbers(grids[name]) == [str(cell) for cell in matrix.flatten().tolist()]
        assert shaded(grids[name]) == [tuple(place) for place in matrix.nonzero().tolist()]


@languages
def test_the_chart_has_a_line_and_a_label_for_each_way(language: str) -> None:
    parts = groups("measured", language, "data-part")
    ends = ("", "-label", "-leader")
    assert parts.keys() == {f"{name}{end}" for name in benchmark.WAYS for end in ends}
    heights = {}
    for name in benchmark.WAYS:
        line = next(path.attrib["d"] for path in parts[name].iter(f"{SVG}path"))
        points = re.findall(r"[ML] ([\d.]+) ([\d.]+)", line)
        assert len(points) == len(benchmark.LENGTHS)
        heights[name] = [float(y) for _, y in points]
    flat = [
        (STORED("time", way=name, words=length), heights[name][i])
        for name in benchmark.WAYS
        for i, length in enumerate(benchmark.LENGTHS)
    ]
    by_time, by_height = sorted(flat), sorted(flat, key=lambda pair: -pair[1])
    assert [time for time, _ in by_time] == [time for time, _ in by_height]
    labels = [t for name in benchmark.WAYS for t in parts[f"{name}-label"].iter(f"{SVG}text")]
    for name, label in zip(benchmark.WAYS, labels, strict=True):  # a line leads to each label
        (leader,) = parts[f"{name}-leader"].iter(f"{SVG}path")
        points = re.findall(r"[ML] ([\d.]+) ([\d.]+)", leader.attrib["d"])
        assert float(points[0][1]) == pytest.approx(heights[name][-1], abs=0.02)
        assert float(points[-1][1]) == pytest.approx(float(label.attrib["y"]), abs=6)
    assert len({round(float(label.attrib["y"])) // 12 for label in labels}) == len(benchmark.WAYS)


@languages
def test_the_table_holds_the_stored_numbers(language: str) -> None:
    cells = re.findall(r"[\d.,]+(?=×)", tables.per_word(language))
    stored = [
        STORED("time", way=way, words=length)
        for length in benchmark.LENGTHS
        for way in benchmark.WAYS
    ]
    assert cells == [f"{value:,.2f}" for value in stored]


def test_the_measurement_says_what_the_page_says() -> None:
    found = {
        way: [STORED("time", way=way, words=length) for length in benchmark.LENGTHS]
        for way in benchmark.WAYS
    }
    assert found["cached"][0] == 1
    for shorter, longer in zip(found["cached"], found["anew"], strict=True):
        assert longer > 4 * shorter
    assert found["concatenated"][-1] > 1.1 * found["cached"][-1]
    assert found["repeated"][-1] > 1.5 * found["concatenated"][-1]
    # the time grows with what must be read, and far less than what is computed anew
    reading = found["read"][-1] - found["read"][0]
    assert found["cached"][-1] - 1 < 2 * reading + 1
    assert found["anew"][-1] / found["anew"][0] > 2 * found["cached"][-1]
