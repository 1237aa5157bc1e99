"""The figures on KV memory show the numbers of the models they name."""

import itertools
import math
import re
from xml.etree import ElementTree as ET

import pytest
import torch

from attn_docs import KVCache, LatentCache, load_models
from docs._tools.page import page_module

figures = page_module("memory/kv-memory", "figures")

SVG = "{http://www.w3.org/2000/svg}"
MODELS = load_models()
languages = pytest.mark.parametrize("language", ["en", "zh"])


def root(name: str, language: str) -> ET.Element:
    return ET.fromstring(figures.FIGURES[name](language))  # noqa: S314 - our own


def groups(name: str, language: str) -> dict[str, ET.Element]:
    found = root(name, language).iter(f"{SVG}g")
    return {g.attrib["data-model"]: g for g in found if "data-model" in g.attrib}


def taken(name: str, length: int) -> int:
    """Return what the caches of a model without shared layers take, in bfloat16."""
    config, where = MODELS[name].config, {"dtype": torch.bfloat16, "device": "meta"}
    total = 0
    if config.latent_layers:
        cache = LatentCache(1, config.kv_rank, config.rope_dim, length, **where)
        total += config.latent_layers * cache.nbytes
    for layers, window in (
        (config.full_layers, None),
        (config.windowed_layers, config.window),
    ):
        if layers:
            heads = (1, config.num_kv_heads, config.head_dim, length)
            total += layers * KVCache(*heads, window=window, **where).nbytes
    return total


@languages
def test_as_many_users_fit_on_the_card_as_are_drawn_before_its_end(language: str) -> None:
    drawn: dict[str, list[ET.Element]] = {}
    for element in root("users", language).iter():
        if "data-part" in element.attrib:
            drawn.setdefault(element.attrib["data-part"], []).append(element)
    (weights,), (more,), (card,) = (drawn[part] for part in ("weights", "no-room", "card"))
    end = float(re.findall(r"[ML]([\d.]+),", card.attrib["d"])[0])
    scale = float(weights.attrib["width"]) / MODELS["Llama-3.1-8B"].weight_bytes
    assert end - float(weights.attrib["x"]) == pytest.approx(scale * 24_207 * 2**20, abs=0.05)
    each = scale * taken("Llama-3.1-8B", 8192)
    lefts = [float(bar.attrib["x"]) for bar in (*drawn["user"], more)]
    steps = [right - left for left, right in itertools.pairwise(lefts)]
    assert steps == pytest.approx([each] * 8, abs=0.05)
    assert lefts[-1] <= end < lefts[-1] + each


@languages
def test_dots_of_a_token_stand_on_a_labelled_logarithmic_axis(language: str) -> None:
    shown, values = groups("token", language), []
    assert tuple(shown) == figures.BARS
    for dot in root("token", language).iter(f"{SVG}rect"):  # a bar's length would mislead
        assert dot.attrib["width"] == dot.attrib["height"] == "10"
    lines = {e.get("data-tick"): e for e in root("token", language).iter() if e.get("data-tick")}
    ticks = {int(tick): float(line.attrib["d"][1:].split(",")[0]) for tick, line in lines.items()}
    written = {text.text for text in root("token", language).iter(f"{SVG}text")}
    assert {f"{tick:,}" for tick in ticks} <= written
    step = (ticks[4096] - ticks[4]) / math.log(4096 / 4)
    assert ticks == {t: pytest.approx(ticks[4] + step * math.log(t / 4), abs=0.05) for t in ticks}
    for name, group in shown.items():
        (dot,) = group.iter(f"{SVG}rect")
        label, number = (text.text for text in group.iter(f"{SVG}text"))
        assert label == name
        kib = float(number.replace(",", ""))
        if not MODELS[name].config.shared_full_layers:
            assert kib * 1024 == pytest.approx(taken(name, 1), rel=1e-3)
        values.append(kib)
        where = ticks[4] + step * math.log(kib / 4)
        assert float(dot.attrib["x"]) + 5 == pytest.approx(where, abs=0.05)
        heads = MODELS[name].config.num_kv_heads
        kind = "fewer" if heads else "latent"
        kind = "multi-head" if heads == MODELS[name].num_heads else kind
        assert dot.attrib["fill"] == figures.KINDS[kind]
    assert values == sorted(values, reverse=True)
    assert float(number) == 8


@languages
def test_lines_are_the_caches_on_logarithmic_scales(language: str) -> None:
    parts = {g.get("data-part"): g for g in root("context", language).iter(f"{SVG}g")}
    ends = {}
    for name in figures.LINES:
        (path,) = parts[name].iter(f"{SVG}path")
        points = re.findall(r"[ML] ([\d.]+) ([\d.]+)", path.attrib["d"])
        found = [(float(x), float(y)) for x, y in points]
        # two points of another line give the scale
        ends[name] = found[0], found[-1]
        values = [taken(name, length) for length in figures.LENGTHS]
        assert figures.curve(name) == [value / 2**30 for value in values]
    (x0, y0), (x1, y1) = ends["Llama-2-7B"]
    up = (y0 - y1) / math.log(taken("Llama-2-7B", 2**17) / taken("Llama-2-7B", 2**8))
    for name, ((left, first), (right, last)) in ends.items():
        assert (left, right) == pytest.approx((x0, x1), abs=0.02)
        for y, length in ((first, 2**8), (last, 2**17)):
            wanted = y0 - up * math.log(taken(name, length) / taken("Llama-2-7B", 2**8))
            assert y == pytest.approx(wanted, abs=0.05)
    for name in figures.FULL_AT:  # a dot on the line where the windows are full
        (dot,) = parts[f"{name}-full"].iter(f"{SVG}path")
        at = [float(number) for number in re.findall(r"[\d.]+", dot.attrib["transform"])]
        window = MODELS[name].config.window
        x = x0 + (x1 - x0) * math.log2(window / 2**8) / 9
        y = y0 - up * math.log(taken(name, window) / taken("Llama-2-7B", 2**8))
        assert at == pytest.approx([x, y], abs=0.05)


@languages
def test_bars_of_weights_and_cache_are_as_long_as_their_bytes(language: str) -> None:
    shown = groups("cards", language)
    assert tuple(shown) == figures.CARD_BARS
    scale = figures.WIDE / figures.FULL
    for name, group in shown.items():
        bars = {bar.attrib["data-bar"]: bar for bar in group.iter(f"{SVG}rect")}
        model = MODELS[name]
        weights = model.weight_bytes / 2**30
        cache = taken(name, model.context) / 2**30
        assert float(bars["weights"].attrib["width"]) == pytest.approx(weights * scale, abs=0.02)
        assert float(bars["cache"].attrib["width"]) == pytest.approx(cache * scale, abs=0.02)
        left = figures.LEFT + weights * scale
        assert float(bars["cache"].attrib["x"]) == pytest.approx(left, abs=0.02)
        assert weights + cache < figures.FULL
    lines = [e for e in root("cards", language).iter() if e.get("data-card")]
    reported = {"RTX 4090": 24_207, "H100": 81_008, "H200": 143_155}  # MiB, of CUDA
    assert [line.attrib["data-card"] for line in lines] == list(reported)
    for line in lines:
        x = figures.LEFT + scale * reported[line.attrib["data-card"]] / 1024
        starts = re.findall(r"[ML]([\d.]+),", line.attrib["d"])
        assert list(map(float, starts)) == pytest.approx([x, x], abs=0.02)
