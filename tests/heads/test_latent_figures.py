"""Figures of the chapter on latent attention show the sizes and the measurement they claim."""

import re
from xml.etree import ElementTree as ET

import pytest
import torch

from attn_docs import LatentCache
from docs._kit.measured import load
from docs._tools.page import page_module
from tests.kit import read_off

benchmark = page_module("heads/latent", "benchmark")
figures = page_module("heads/latent", "figures")
tables = page_module("heads/latent", "tables")

SVG = "{http://www.w3.org/2000/svg}"
MEASURED = load(str(benchmark.__file__))["decode"]
languages = pytest.mark.parametrize("language", ["en", "zh"])


def root(name: str, language: str) -> ET.Element:
    return ET.fromstring(figures.FIGURES[name](language))  # noqa: S314 - our own


def texts(element: ET.Element) -> list[str]:
    return [text.text for text in element.iter(f"{SVG}text")]


def parts(panel: ET.Element) -> dict[str, ET.Element]:
    return {g.attrib["data-part"]: g for g in panel.iter(f"{SVG}g") if "data-part" in g.attrib}


@languages
def test_both_forms_show_the_same_cache_and_only_the_naive_one_makes_keys(language: str) -> None:
    drawing = root("forms", language)
    panels = {g.get("data-form"): g for g in drawing.iter(f"{SVG}g") if g.get("data-form")}
    v3 = tables.V3
    cache = LatentCache(1, v3.kv_rank, v3.rope_dim, 1)
    for form, panel in panels.items():
        shown = parts(panel)
        assert set(shown) == {"cached", "rotary"} | ({"made"} if form == "naive" else set())
        latent, rotary = (float(shown[part][0].attrib["width"]) for part in ("cached", "rotary"))
        assert latent / (latent + rotary + 2) == pytest.approx(
            v3.kv_rank / cache.entries.numel(), abs=1e-3
        )
        (label,) = [text for text in texts(panel) if re.search(r"[:：] ?512 \+ 64$", text)]
        assert list(map(int, re.findall(r"\d+", label))) == [v3.kv_rank, v3.rope_dim]
    made = [text for text in texts(panels["naive"]) if "256" in text]
    assert len(made) == 1
    assert tables.projected_up() == 32_768 == v3.num_heads * (128 + 128)
    assert tables.keys_and_values() == 40_960 == v3.num_heads * (128 + 64 + 128)
    assert not [text for text in texts(panels["absorbed"]) if "256" in text]
    assert re.search("256.*32,768", drawing.findtext(f"{SVG}desc") or "")


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
        if form
    }
    assert heights["naive"].keys() == {"W_UK, W_UV"}
    assert heights["absorbed"].keys() == {"W_UKᵀ", "W_UV"}
    assert heights["naive"]["W_UK, W_UV"] < figures.ATTEND_TOP
    assert heights["absorbed"]["W_UKᵀ"] < figures.ATTEND_TOP < heights["absorbed"]["W_UV"]


@languages
def test_points_stand_at_the_times_that_were_measured(language: str) -> None:
    drawing = root("measured", language)
    parts = {g.get("data-part"): g for g in drawing.iter(f"{SVG}g")}
    words, time = (read_off(drawing, axis, log=True) for axis in "xy")
    for way in benchmark.WAYS:
        marks = [e.get("transform") for e in parts[way].iter(f"{SVG}path") if e.get("transform")]
        points = [tuple(map(float, re.findall(r"[\d.]+", mark))) for mark in marks]
        read = {round(words(x)): time(y) for x, y in points}
        wanted = {n: MEASURED("time", way=way, context=n) for n in benchmark.CONTEXTS}
        assert read == pytest.approx(wanted, rel=0.002)


@languages
def test_the_table_shows_what_was_measured_and_what_the_caches_hold(language: str) -> None:
    sizes = benchmark.SIZES
    heads, d, r, e = (sizes[k] for k in ("num_heads", "head_dim", "rope_dim", "value_dim"))
    lines = tables.decode(language).splitlines()[2 : 2 + len(benchmark.CONTEXTS)]
    for context, line in zip(benchmark.CONTEXTS, lines, strict=True):
        times = [MEASURED("time", way=way, context=context) for way in benchmark.WAYS]
        latent = LatentCache(1, sizes["kv_rank"], r, context).nbytes
        key, value = (torch.empty(heads, context, n, device="meta") for n in (d + r, e))
        assert [cell.strip() for cell in line.strip("|").split("|")] == [
            f"{context:,}",
            *(f"{time:.2f}×" for time in times),
            *(f"{size / 2**20:,.1f} MiB" for size in (latent, key.nbytes + value.nbytes)),
        ]


def test_the_measurement_says_what_the_page_says() -> None:
    first, *_, last = benchmark.CONTEXTS
    naive = [MEASURED("time", way="naive", context=context) for context in (first, last)]
    assert naive[1] > 3 * MEASURED("time", way="absorbed", context=last)
    assert naive[1] > 5 * naive[0]
    memory = tables.cached(last)
    assert memory["unpacked"] > 8 * memory["absorbed"] == 8 * memory["naive"]


def test_the_benchmark_measures_what_is_stored(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(benchmark, "ROUNDS", 1)
    small = {"embed_dim": 8, "num_heads": 2, "kv_rank": 4, "head_dim": 4, "rope_dim": 2}
    monkeypatch.setattr(benchmark, "SIZES", small | {"value_dim": 4})
    stored, fresh = (
        [
            {name: value[name] for name in ("way", "context", "quantity", "unit")}
            for value in found.values
        ]
        for found in (MEASURED, benchmark.measure()["decode"])
    )
    assert fresh == stored
