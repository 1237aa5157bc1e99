"""What many tests need: random numbers, the largest difference, an exhibit mended, a chart read."""

import itertools
import math
import re
from collections.abc import Callable
from types import ModuleType
from xml.etree import ElementTree as ET

import pytest
import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from docs._tools.blocks import ROOT

NUMBER = re.compile(r"(-?[\d.,]+)×?")


def normal(*shape: int, seed: int = 0, dtype: torch.dtype = torch.float64) -> Tensor:
    """Return normal random numbers, the same for a seed."""
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(shape, generator=generator, dtype=torch.float64).to(dtype)


def error(found: Tensor, wanted: Tensor) -> float:
    """Return the largest difference of two tensors of one shape."""
    assert found.shape == wanted.shape
    return (found - wanted).abs().max().item() if found.numel() else 0.0


def off(found: Tensor, wanted: Tensor) -> float:
    """Return the norm of the difference of two tensors over the norm of what is wanted."""
    return ((found - wanted).norm() / wanted.norm()).item()


class Copies(TorchDispatchMode):
    """Collect the shape of every copy that is made inside."""

    def __init__(self) -> None:
        super().__init__()
        self.shapes: list[tuple[int, ...]] = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        result = func(*args, **(kwargs or {}))
        if func.name() == "aten::clone":
            self.shapes.append(tuple(result.shape))
        return result


class Made(TorchDispatchMode):
    """Collect the number of elements of every tensor that an operation returns."""

    def __init__(self) -> None:
        super().__init__()
        self.sizes: set[int] = set()

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        result = func(*args, **(kwargs or {}))
        self.sizes |= {x.numel() for x in tree_leaves(result) if isinstance(x, Tensor)}
        return result


def load_exhibit(place: str, mend: tuple[str, str], *, mended: bool) -> ModuleType:
    """Import an exhibit such as heads/softmax_over_heads, or its copy with the wrong line mended.

    `mend` is what the marked line holds once, and what should stand there.
    """
    source = (ROOT / "attn_docs" / "exhibits" / f"{place}.py").read_text(encoding="utf-8")
    (marked,) = (line for line in source.splitlines() if "# wrong: " in line)
    wrong, right = mend
    code = marked.partition("  # wrong: ")[0]
    assert code.count(wrong) == 1, place
    module = ModuleType(place.rpartition("/")[2])
    # no file: Python takes two files of one name, second and size for one
    exec(source.replace(marked, code.replace(wrong, right)) if mended else source, module.__dict__)  # noqa: S102
    return module


def parse(svg: str) -> ET.Element:
    """Return a figure's tree, its tags without namespaces."""
    root = ET.fromstring(svg)  # noqa: S314 - our own
    for element in root.iter():
        element.tag = element.tag.rpartition("}")[2]
    return root


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


def causal_by_mask(arguments: dict, n: int, m: int) -> dict:
    """Say `is_causal` by a mask, which a call with a context takes."""
    arguments = dict(arguments)
    if not arguments.pop("is_causal", False):
        return arguments
    allowed = torch.ones(n, m, dtype=torch.bool).tril()
    mask = arguments.get("attn_mask", allowed)
    both = mask & allowed if mask.dtype == torch.bool else mask.masked_fill(~allowed, -math.inf)
    return {**arguments, "attn_mask": both}
