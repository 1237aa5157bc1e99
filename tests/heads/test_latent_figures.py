"""Figures of the chapter on latent attention show the sizes and the measurement they claim."""

import re
from xml.etree import ElementTree as ET

import pytest
import torch

from attn_docs import KVCache, LatentCache, MultiHeadLatentAttention
from docs._tools.page import page_module

benchmark = page_module("heads/latent", "benchmark")
figures = page_module("heads/latent", "figures")
tables = page_module("heads/latent", "tables")

SVG = "{http://www.w3.org/2000/svg}"
languages = pytest.mark.parametrize("language", ["en", "zh"])


def root(name: str, language: str) -> ET.Element:
    return ET.fromstring(figures.FIGURES[name](language))  # noqa: S314 - our own


def texts(element: ET.Element) -> list[str]:
    return [text.text for text in element.iter(f"{SVG}text")]


@languages
def test_the_flow_has_the_layers_and_sizes_of_the_module(language: str) -> None:
    with torch.device("meta"):
        names = ("embed_dim", "num_heads", "kv_rank", "q_rank", "head_dim", "rope_dim", "value_dim")
        module = MultiHeadLatentAttention(**dict(zip(names, tables.V3, strict=True)))
        cache = LatentCache(1, tables.V3.kv_rank, tables.V3.rope_dim, 1)
    drawing = root("flow", language)
    words = texts(drawing)
    layers = {name for name, _ in module.named_children() if name != "rotary"}
    assert layers == {
        word.split()[0] for word in words if re.match(r"\w+_(proj|norm)( →.*)?$", word)
    }
    shown = " ".join(words).replace(",", "")
    for layer in (module.q_a_proj, module.kv_a_proj):
        assert str(layer.in_features) in shown
    assert module.q_b_proj.out_features == 128 * 128 + 128 * 64
    assert module.kv_b_proj.out_features == 2 * 128 * 128
    assert "128 × 128" in shown
    assert "128 × 64" in shown
    (kept,) = [g for g in drawing.iter(f"{SVG}g") if g.get("data-part") == "kept"]
    numbers = [int(number) for number in re.findall(r"\d+", texts(kept)[0])]
    assert numbers == [tables.V3.kv_rank, tables.V3.rope_dim]
    assert sum(numbers) == cache.entries.numel()


@languages
def test_the_cells_are_what_the_caches_keep(language: str) -> None:
    groups = {g.get("data-kind"): g for g in root("kept", language).iter(f"{SVG}g")}
    kv_heads = {"multi-head": 128, "grouped": 8, "multi-query": 1}
    assert groups.keys() == figures.KINDS.keys()
    for name, group in groups.items():
        cells = [float(cell.attrib["width"]) for cell in group]
        if name == "latent":
            numbers = LatentCache(1, tables.V3.kv_rank, tables.V3.rope_dim, 1).nbytes / 4
        else:
            numbers = KVCache(1, kv_heads[name], tables.V3.head_dim, 1).nbytes / 4
        assert sum(cells) / 10 == numbers / tables.V3.head_dim


@languages
def test_the_matrices_stand_where_the_forms_have_them(language: str) -> None:
    panels = {g.get("data-form"): g for g in root("forms", language).iter(f"{SVG}g")}
    heights = {
        form: {
            text.text: float(text.attrib["y"])
            for text in panel.iter(f"{SVG}text")
            if text.text.startswith("W_")
        }
        for form, panel in panels.items()
    }
    assert heights["naive"].keys() == {"W_UK, W_UV"}
    assert heights["absorbed"].keys() == {"W_UKᵀ", "W_UV"}
    assert heights["absorbed"]["W_UKᵀ"] < 188 < heights["absorbed"]["W_UV"]


@languages
def test_lines_go_through_the_stored_numbers(language: str) -> None:
    parts = {g.get("data-part"): g for g in root("measured", language).iter(f"{SVG}g")}
    values, found, logs = figures.stored(), [], []
    for way in benchmark.WAYS:
        marks = [e.get("transform") for e in parts[way].iter(f"{SVG}path") if e.get("transform")]
        points = [tuple(map(float, re.findall(r"[\d.]+", mark))) for mark in marks]
        assert len(points) == len(benchmark.CONTEXTS)
        found += [y for _, y in points]
        logs += [torch.tensor(time).log().item() for time in values[way]]
    # heights are a straight line over the logarithm
    heights, logs = torch.tensor(found), torch.tensor(logs)
    low, high = logs.argmin(), logs.argmax()
    slope = (heights[high] - heights[low]) / (logs[high] - logs[low])
    assert torch.allclose(heights, heights[low] + slope * (logs - logs[low]), atol=0.2)


def test_both_stored_tables_hold_the_same_numbers() -> None:
    english = figures.STORED.read_text(encoding="utf-8")
    chinese = figures.STORED.with_name("decode.zh.md").read_text(encoding="utf-8")
    rows = [re.findall(r"[\d.,]+(?=×| MiB)", text) for text in (english, chinese)]
    assert rows[0] == rows[1]
    assert len(rows[0]) == 5 * len(benchmark.CONTEXTS)


def test_the_measurement_says_what_the_page_says() -> None:
    values = figures.stored()
    assert values["naive"][-1] > 3 * values["absorbed"][-1]
    assert values["naive"][-1] > 5 * values["naive"][0]
    memory = benchmark.cached(benchmark.CONTEXTS[-1])
    assert memory["unpacked"] > 8 * memory["absorbed"] == 8 * memory["naive"]
