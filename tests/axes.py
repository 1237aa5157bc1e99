"""Read a chart as its readers do: by the numbers that are printed at its ticks."""

import itertools
import math
import re
from collections.abc import Callable
from xml.etree import ElementTree as ET

import pytest

NUMBER = re.compile(r"(-?[\d.,]+)×?")


def read_off(root: ET.Element, axis: str, *, log: bool = False) -> Callable[[float], float]:
    """Return what a place on the "x" or "y" axis stands for; the ticks must agree on it."""
    scale, back = (math.log, math.exp) if log else (float, float)
    ticks = _ticks(root, axis)
    (low, start), *_, (high, end) = sorted(ticks.items())

    def value(place: float) -> float:
        part = (place - start) / (end - start)
        return back(scale(low) + part * (scale(high) - scale(low)))

    for number, place in ticks.items():
        assert value(place) == pytest.approx(number, rel=1e-3)
    return value


def _ticks(root: ET.Element, axis: str) -> dict[float, float]:
    """Return where each printed number's tick or grid line is: the line comes before its text."""
    found = {}
    for line, text in itertools.pairwise(root.iter()):
        number = NUMBER.fullmatch(text.text or "")
        if line.tag.endswith("path") and text.tag.endswith("text") and number:
            points = [float(place) for place in re.findall(r"-?[\d.]+", line.attrib["d"])]
            across = set(points["xy".index(axis) :: 2])
            if len(across) == 1:  # upright on the x axis, level on the y axis
                found[float(number[1].replace(",", ""))] = across.pop()
    return found
