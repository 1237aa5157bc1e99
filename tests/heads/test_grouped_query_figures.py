"""The figures on grouped-query attention show the sharing and the measurement they claim."""

from xml.etree import ElementTree as ET

import pytest
import torch

from attn_docs import GroupedQueryAttention, grouped_query_attention_broadcast
from docs._kit.draw import ACCENT
from docs._kit.measured import load
from docs._tools.page import page_module

benchmark = page_module("heads/grouped-query", "benchmark")
figures = page_module("heads/grouped-query", "figures")
tables = page_module("heads/grouped-query", "tables")

SVG = "{http://www.w3.org/2000/svg}"
MEASURED = load(str(benchmark.__file__))["forms"]
languages = pytest.mark.parametrize("language", ["en", "zh"])


def groups(name: str, language: str, attribute: str) -> dict[str, ET.Element]:
    root = ET.fromstring(figures.FIGURES[name](language))  # noqa: S314 - our own
    return {g.attrib[attribute]: g for g in root.iter(f"{SVG}g") if attribute in g.attrib}


def reads(attend, heads: int, kv_heads: int) -> list[int]:
    """Find out from the output which value head each query head has read."""
    query, key = torch.zeros(1, heads, 1, 1), torch.zeros(1, kv_heads, 1, 1)
    value = torch.arange(float(kv_heads)).view(1, kv_heads, 1, 1)
    return attend(query, key, value).flatten().int().tolist()


@languages
def test_lines_join_each_query_head_to_the_kv_head_it_reads(language: str) -> None:
    panels = groups("sharing", language, "data-panel")
    assert panels.keys() == figures.PANELS.keys()
    for name, (kv_heads, cached) in figures.PANELS.items():
        lines = [line for line in panels[name].iter() if line.get("data-query")]
        found = {int(line.attrib["data-query"]): int(line.attrib["data-key"]) for line in lines}
        wanted = reads(grouped_query_attention_broadcast, figures.HEADS, kv_heads)
        assert [found[head] for head in range(figures.HEADS)] == wanted
        boxes = [box for box in panels[name].iter(f"{SVG}rect") if box.get("data-kv")]
        assert len(boxes) == kv_heads
        assert all((box.attrib["fill"] == ACCENT) == cached for box in boxes)
        assert all(("stroke-dasharray" in box.attrib) != cached for box in boxes)
        texts = [text.text for text in panels[name].iter(f"{SVG}text")]
        assert sum(text[0] == "Q" and text[1:].isdigit() for text in texts) == figures.HEADS
        assert (str(kv_heads) in texts[-1]) == cached


@languages
def test_a_line_ends_where_its_kv_head_stands(language: str) -> None:
    for panel in groups("sharing", language, "data-panel").values():
        middles = {
            box.attrib["data-kv"]: float(box.attrib["x"]) + float(box.attrib["width"]) / 2
            for box in panel.iter(f"{SVG}rect")
            if box.get("data-kv")
        }
        for line in panel.iter(f"{SVG}path"):
            if line.get("data-query"):
                end = float(line.attrib["d"].replace(",", " ").replace("L", " ").split()[-2])
                assert end == pytest.approx(middles[line.attrib["data-key"]])


@languages
def test_only_latent_attention_computes_its_heads_from_one_cached_vector(language: str) -> None:
    for name, panel in groups("sharing", language, "data-panel").items():
        latent = [box for box in panel.iter() if box.get("data-latent")]
        computed = [line for line in panel.iter() if line.get("data-computed")]
        wanted = name == "latent"
        assert (len(latent), len(computed)) == (wanted, figures.HEADS * wanted)


@languages
def test_each_panel_has_dots_of_one_unit_where_its_axis_says(language: str) -> None:
    panels = groups("measured", language, "data-panel")
    assert panels.keys() == figures.AXES.keys()
    for kind, (ticks, shown) in figures.AXES.items():
        wanted = {name: MEASURED(kind, way=name, case="one token") for name in benchmark.WAYS}
        dots = {dot.attrib["data-dot"]: dot for dot in panels[kind].iter(f"{SVG}rect")}
        carried = {name: float(dot.attrib["data-value"]) for name, dot in dots.items()}
        assert carried == pytest.approx(wanted, abs=0.005)
        texts = {text.text: text for text in panels[kind].iter(f"{SVG}text")}
        first, last = (float(texts[f"{tick:g}"].attrib["x"]) for tick in (ticks[0], ticks[-1]))
        per_unit = (last - first) / ticks[-1]
        drawn = {
            name: (float(dot.attrib["x"]) + float(dot.attrib["width"]) / 2 - first) / per_unit
            for name, dot in dots.items()
        }
        assert drawn == pytest.approx(wanted, rel=0.02, abs=0.01 * ticks[-1])
        assert all(shown.format(value) in texts for value in wanted.values())


@languages
def test_the_table_shows_what_was_measured(language: str) -> None:
    lines = tables.forms(language).splitlines()[2 : 2 + len(benchmark.WAYS)]
    for way, line in zip(benchmark.WAYS, lines, strict=True):
        cases = ("one token", "a text")
        times = [f"{MEASURED('time', way=way, case=case):.2f}×" for case in cases]
        memory = [f"{MEASURED('memory', way=way, case=case):,.0f} MiB" for case in cases]
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        assert cells[1:] == [times[0], memory[0], times[1], memory[1]]


def test_the_measurement_says_what_the_page_says() -> None:
    time, memory = (
        {name: MEASURED(kind, way=name, case="one token") for name in benchmark.WAYS}
        for kind in ("time", "memory")
    )
    assert memory["repeat"] > 10 * memory["broadcast"]
    assert time["broadcast"] < 0.5
    assert time["torch"] < 0.5


def test_the_benchmark_measures_what_is_stored(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(benchmark, "ROUNDS", 1)
    monkeypatch.setattr(benchmark, "CASES", {"one token": (1, 9), "a text": (5, 5)})
    stored, fresh = (
        [
            {name: value[name] for name in ("case", "way", "quantity", "unit")}
            for value in found.values
        ]
        for found in (MEASURED, benchmark.measure()["forms"])
    )
    assert fresh == stored


def test_the_sharing_of_the_module_is_that_of_the_function() -> None:
    module = GroupedQueryAttention(figures.HEADS, figures.HEADS, 2, bias=False)
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.zero_()
        module.v_proj.weight[:, 0] = torch.tensor([0.0, 1.0])
        module.out_proj.weight.copy_(torch.eye(figures.HEADS))
        output = module(torch.ones(1, 1, figures.HEADS))
    assert output.flatten().int().tolist() == [0, 0, 1, 1]
