"""The figures on the cost of decoding stand where the counts and the stored table say."""

import math
import re
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


def where(intensity: float) -> tuple[float, float]:
    """Return the place of a point on the roof: 306 units for 0.5 to 2,000, 260 for 0.1 to 2,500."""
    x = 34 + 306 * math.log(intensity / 0.5) / math.log(2000 / 0.5)
    return x, 24 + 260 * math.log(2500 / figures.attainable(intensity)) / math.log(25_000)


@languages
def test_models_stand_on_the_roof_at_their_intensity(language: str) -> None:
    found = parts("roofline", language, "data-part")
    intensities = {name.replace(" ", "-"): tables.cost(name).intensity for name in tables.MODELS}
    intensities["several"] = 16 * (2 * 512 + 64) / (512 + 64)  # 16 of 128 heads, the whole cache
    ranges = {"batch": (1, 64), "new": (4, 1024)}
    parts_of_ranges = {name + end for name in ranges for end in ("", "-tip")}
    assert found.keys() == {"roof", *intensities, *parts_of_ranges}
    for name, intensity in intensities.items():
        (square,) = found[name].iter(f"{SVG}path")
        place = square.attrib["transform"].removeprefix("translate(").rstrip(")").split(",")
        assert tuple(map(float, place)) == pytest.approx(where(intensity), abs=0.02)
    for name, ends in ranges.items():
        (line,) = found[name].iter(f"{SVG}path")
        (x0, y0), (x1, y1) = re.findall(r"[ML] ([\d.]+) ([\d.]+)", line.attrib["d"])
        assert y0 == y1
        assert [float(x0), float(x1)] == pytest.approx([where(x)[0] for x in ends], abs=0.02)
    (roof,) = found["roof"].iter(f"{SVG}path")
    numbers = [float(word) for word in roof.attrib["d"].split() if word not in "ML"]
    corners = [c for x in (0.5, tables.ridge(), 2000) for c in where(x)]
    assert numbers == pytest.approx(corners, abs=0.02)


@languages
def test_bars_are_as_long_as_the_stored_numbers(language: str) -> None:
    found = parts("measured", language, "data-attention")
    stored, longest = load(benchmark.__file__)["steps"], benchmark.LENGTHS[-1]
    most = benchmark.cost("multi-head", longest).bytes
    values = {
        name: (
            benchmark.cost(name, longest).bytes / most,
            stored("time", attention=name, words=longest),
        )
        for name in benchmark.NAMES
    }
    assert set(benchmark.NAMES) - found.keys() == {"repeat"}, (
        "too slow to be drawn beside the others"
    )
    full = max(1.0, *(values[name][1] for name in found))
    for name in found:
        pair = values[name]
        bars = {e.attrib["data-bar"]: e for e in found[name].iter() if "data-bar" in e.attrib}
        for kind, value in zip(("bytes", "time"), pair, strict=True):
            width = float(bars[kind].attrib["width"])
            assert width == pytest.approx(270 * value / full, abs=0.01)
