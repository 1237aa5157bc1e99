"""The figures on where attention comes from show the graphs and gradients they claim."""

import re
from xml.etree import ElementTree as ET

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from docs._tools.page import page_module

figures = page_module("foundations/origin", "figures")


SVG = "{http://www.w3.org/2000/svg}"
LAYERS = ("recurrent", "self-attention")
STEPS = {"recurrent": (lambda n: n), "self-attention": (lambda _: 1)}  # and the longest path
languages = pytest.mark.parametrize("language", ["en", "zh"])


def parse(name: str, language: str) -> ET.Element:
    return ET.fromstring(figures.FIGURES[name](language))  # noqa: S314 - our own


def drawn(root: ET.Element, layer: str) -> list[ET.Element]:
    (group,) = [g for g in root.iter(f"{SVG}g") if g.get("data-layer") == layer]
    return [line for line in group.iter() if line.get("data-from")]


def count(graph: list[tuple]) -> tuple[int, int]:
    """Count the steps that wait for one another, and the longest of the shortest paths."""
    nodes = {node for edge in graph for node in edge}
    level, distance = {}, {}

    def steps(node: tuple[str, int]) -> int:
        if node not in level:
            before = [start for start, end in graph if end == node]
            level[node] = 1 + max(map(steps, before)) if before else 0
        return level[node]

    for source in (node for node in nodes if node[0] == "x"):
        reached, frontier = {source: 0}, [source]
        while frontier:
            frontier = [
                end
                for node in frontier
                for start, end in graph
                if start == node
                and end not in reached
                and reached.setdefault(end, reached[node] + 1)
            ]
        distance |= {(source, node): far for node, far in reached.items()}
    return max(map(steps, nodes)), max(distance.values())


@pytest.mark.parametrize("layer", LAYERS)
@pytest.mark.parametrize("n", [1, 2, 4, 7])
def test_steps_and_paths_are_those_of_the_graph(layer: str, n: int) -> None:
    assert count(figures.edges(layer, n)) == (STEPS[layer](n),) * 2


@languages
@pytest.mark.parametrize("layer", LAYERS)
def test_arrows_are_the_graph_and_reach_what_gradients_reach(layer: str, language: str) -> None:
    lines = drawn(parse("dependencies", language), layer)
    graph = [
        tuple(
            (name[0], int(name[1:])) for name in (line.attrib["data-from"], line.attrib["data-to"])
        )
        for line in lines
    ]
    assert sorted(graph) == sorted(figures.edges(layer))
    assert count(graph) == (STEPS[layer](figures.WORDS),) * 2

    torch.manual_seed(0)
    words = torch.randn(1, figures.WORDS, 3, requires_grad=True)
    if layer == "recurrent":
        output = nn.GRU(3, 3, batch_first=True)(words)[0]
    else:
        output = F.scaled_dot_product_attention(words, words, words)
    reach = {("x", j): {("x", j)} for j in range(figures.WORDS)}
    for nodes in reach.values():
        for _ in range(figures.WORDS):
            nodes |= {end for start, end in graph if start in nodes}
    for i in range(figures.WORDS):
        (gradient,) = torch.autograd.grad(output[:, i].sum(), words, retain_graph=True)
        for j in range(figures.WORDS):
            assert (gradient[0, j].norm() > 0).item() == (("h", i) in reach["x", j])


@languages
@pytest.mark.parametrize("layer", LAYERS)
def test_highlighted_arrows_lead_from_the_first_word_to_the_last_output(
    layer: str, language: str
) -> None:
    lit = [e for e in drawn(parse("dependencies", language), layer) if e.get("data-lit") == "true"]
    assert len(lit) == STEPS[layer](figures.WORDS)
    place = "x0"
    for line in sorted(lit, key=lambda e: (e.attrib["data-from"] != "x0", e.attrib["data-from"])):
        assert line.attrib["data-from"] == place
        place = line.attrib["data-to"]
    assert place == f"h{figures.WORDS - 1}"


@languages
def test_steps_are_written_over_the_outputs(language: str) -> None:
    root = parse("dependencies", language)
    pattern = {"en": r"step (\d)", "zh": r"第 (\d) 步"}[language]
    found = [re.fullmatch(pattern, text.text or "") for text in root.iter(f"{SVG}text")]
    assert [int(match[1]) for match in found if match] == [1, 2, 3, 4, 1, 1, 1, 1]


@languages
def test_the_chart_draws_the_measured_gradients(language: str) -> None:
    root = parse("gradient-against-length", language)
    ticks = {}
    for text in root.iter(f"{SVG}text"):
        if re.fullmatch("10[⁻⁰¹²³⁶⁹]+", text.text or ""):
            power = int(text.text[2:].translate(str.maketrans("⁻⁰¹²³⁶⁹", "-012369")))
            ticks[power] = float(text.attrib["y"])
    assert set(ticks) == {0, -3, -6, -9, -12}
    unit = (ticks[-12] - ticks[0]) / 12  # height of a factor of ten
    for series in ("gru", "asking", "indifferent"):
        (group,) = [g for g in root.iter(f"{SVG}g") if g.get("data-part") == series]
        line = next(group.iter(f"{SVG}path")).attrib["d"]
        heights = [float(y) for y in re.findall(r"[ML] \S+ (\S+)", line)]
        measured = torch.tensor(figures.measure_gradients(series)).double().log10()
        assert len(heights) == len(figures.LENGTHS)
        drawn_falls = [(y - heights[0]) / unit for y in heights]
        assert drawn_falls == pytest.approx((measured[0] - measured).tolist(), abs=0.01)


def test_the_gradients_fall_as_the_page_says() -> None:
    gru, asking, indifferent = map(figures.measure_gradients, ("gru", "asking", "indifferent"))
    assert gru[figures.LENGTHS.index(32)] < 1e-5 * gru[0]
    assert min(asking) > 0.95 * max(asking)
    products = [n * value for n, value in zip(figures.LENGTHS, indifferent, strict=True)]
    assert products == pytest.approx([products[0]] * len(figures.LENGTHS))


@pytest.mark.parametrize("seed", [1, 2])
def test_other_random_texts_say_the_same(seed: int) -> None:
    gru, asking = (figures.measure_gradients(series, seed=seed) for series in ("gru", "asking"))
    assert gru[figures.LENGTHS.index(32)] < 1e-5 * gru[0]
    assert min(asking) > 0.95 * max(asking)


@languages
def test_the_bottleneck_is_drawn_as_it_was_measured(language: str) -> None:
    root = parse("bottleneck", language)
    ticks = {t.text: float(t.attrib["y"]) for t in root.iter(f"{SVG}text") if t.text in ("0", "1")}
    for name, (attends, words) in figures._NETWORKS.items():
        (group,) = [g for g in root.iter(f"{SVG}g") if g.get("data-part") == name]
        heights = re.findall(r"[ML] \S+ (\S+)", next(group.iter(f"{SVG}path")).attrib["d"])
        found = figures.accuracies(attends=attends, words=words)
        assert len(heights) == len(found)
        first = float(heights[0])
        for height, (mean, low, high) in zip(heights, found.values(), strict=True):
            rise = (first - float(height)) / (ticks["0"] - ticks["1"])
            assert rise == pytest.approx(mean - next(iter(found.values()))[0], abs=0.005)
            assert low <= mean <= high
    assert f"{figures.recall_numbers()['recall_many_128']}" in (root.findtext(f"{SVG}desc") or "")
