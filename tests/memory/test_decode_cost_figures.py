"""The figures on the cost of decoding stand where the counts and the stored table say."""

import math
from xml.etree import ElementTree as ET

import pytest

from docs._kit.measured import load
from docs._tools.page import page_module

figures = page_module("memory/decode-cost", "figures")
tables = page_module("memory/decode-cost", "tables")
benchmark = page_module("memory/decode-cost", "benchmark")


SVG = "{http://www.w3.org/2000/svg}"
languages = pytest.mark.parametrize("language", ["en", "zh"])


def parts(name: str, language: str, attribute: str) -> dict[str, ET.Element]:
    root = ET.fromstring(figures.FIGURES[name](language))  # noqa: S314 - our own
    return {g.attrib[attribute]: g for g in root.iter(f"{SVG}g") if attribute in g.attrib}


def where(intensity: float, rate: float) -> tuple[float, float]:
    """Return a point's place: 352 units for 0.3 to 3,000, 310 for 0.002 to 3,000."""
    x = 40 + 352 * math.log(intensity / 0.3) / math.log(10_000)
    return x, 24 + 310 * math.log(3000 / rate) / math.log(1_500_000)


def places(group: ET.Element) -> list[tuple[float, ...]]:
    """Return where the marks of a part stand."""
    return [
        tuple(map(float, path.attrib["transform"].removeprefix("translate(")[:-1].split(",")))
        for path in group.iter(f"{SVG}path")
    ]


@languages
def test_steps_stand_on_the_roof_at_their_intensity(language: str) -> None:
    found = parts("roofline", language, "data-part")
    weights, cache = 2 * 7_504_924_672, 131_072 * 4096  # Llama 3.1 8B without its input embedding
    attention = 4 * 32 * 128 * 4096 * 32
    intensities = {
        f"batch-{b}": b * (weights + attention) / (weights + b * cache) for b in (1, 8, 64)
    }
    intensities["prefill"] = (512 * weights + 512 * attention / 8) / (weights + cache / 8)
    assert found.keys() == {"roof", "thread", "measured", *intensities}
    for name, intensity in intensities.items():
        (place,) = places(found[name])
        wanted = where(intensity, min(989.4, 3.35 * intensity))
        assert place == pytest.approx(wanted, abs=0.02)


@languages
def test_roofs_and_dots_are_the_published_and_the_measured_ones(language: str) -> None:
    found = parts("roofline", language, "data-part")
    rows = load(benchmark.__file__)["rows"]
    roofs = {"roof": (989.4, 3.35), "thread": (rows("computes") / 1e3, rows("reads") / 1e3)}
    for name, (computes, reads) in roofs.items():
        (path,) = found[name].iter(f"{SVG}path")
        numbers = [float(word) for word in path.attrib["d"].split() if word not in "ML"]
        corners = (0.3, computes / reads, 3000)
        wanted = [c for x in corners for c in where(x, min(computes, reads * x))]
        assert numbers == pytest.approx(wanted, abs=0.02)
    dots = places(found["measured"])
    weights = 4096 * 8192
    for dot, n in zip(dots, benchmark.ROWS, strict=True):
        intensity = 2 * n * weights / (4 * (weights + n * 4096))
        rate = rows("product", rows=n) / 1e3
        assert dot == pytest.approx(where(intensity, rate), abs=0.02)
        assert rate <= min(roofs["thread"][0], roofs["thread"][1] * intensity)


@languages
def test_pipes_are_as_wide_as_their_bandwidth(language: str) -> None:
    root = ET.fromstring(figures.FIGURES["memory"](language))  # noqa: S314 - our own
    pipes = {e.attrib["data-pipe"]: e for e in root.iter(f"{SVG}rect") if "data-pipe" in e.attrib}
    widths = {name: float(pipe.attrib["width"]) for name, pipe in pipes.items()}
    assert widths == {"shared": 31, "l2": 12, "hbm": 3.35, "others": 0.45}
    said = " ".join(text.text or "" for text in root.iter(f"{SVG}text"))
    for width in widths.values():
        assert f"{width:g} TB/s" in said
        assert f"{989.4 / width:,.0f} FLOP" in said


@languages
def test_bars_are_as_long_as_the_predicted_and_the_stored_times(language: str) -> None:
    found = parts("measured", language, "data-attention")
    stored, longest = load(benchmark.__file__), benchmark.LENGTHS[-1]
    values = {}
    for name in benchmark.NAMES:
        weights = sum(parameter.numel() for parameter in benchmark.build(name).parameters())
        read = benchmark.cost(name, longest).bytes + 4 * weights  # reading decides in all
        measured = stored["steps"]("step", attention=name, words=longest)
        values[name] = (read / stored["machine"]("reads") / 1e6, measured)
    assert set(benchmark.NAMES) - found.keys() == {"torch", "repeat"}, "in the table alone"
    full = max(values[name][1] for name in found)
    for name in found:
        bars = {e.attrib["data-bar"]: e for e in found[name].iter() if "data-bar" in e.attrib}
        for kind, value in zip(("predicted", "time"), values[name], strict=True):
            width = float(bars[kind].attrib["width"])
            assert width == pytest.approx(270 * value / full, abs=0.01)
            assert f"{value:.1f} ms" in [text.text for text in found[name].iter(f"{SVG}text")]


def test_no_batch_reaches_the_ridge_but_with_short_texts() -> None:
    ridge, limit = tables.ridge(), tables.step_limit()
    huge = tables.step(10**7)
    assert huge.intensity == pytest.approx(limit, rel=1e-3)
    assert huge.intensity < limit
    assert limit / ridge == pytest.approx(1 / 9, rel=0.03)
    most = int(tables.ridge_length())
    assert tables.numbers()["ridge_length"] == str(round(most, -1))
    assert tables.step(10**9, most).intensity > ridge > tables.step(10**9, most + 1).intensity
