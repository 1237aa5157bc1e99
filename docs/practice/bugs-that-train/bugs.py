"""The exhibits of this part: in the page's order, loaded, trained and checked, each once."""

import functools
import importlib
import math
from dataclasses import dataclass

import torch

from attn_docs.practice.bugs_that_train import EMBED_DIM, NUM_HEADS, train
from attn_docs.testing import Adapter, Finding, Report, check_module
from docs._kit.measure import one_thread
from docs._tools.bugs import load

SECTIONS, BUGS = load()
COLUMNS = [prop for section in SECTIONS.values() for prop in section]
ORDER = [name for section in SECTIONS.values() for names in section.values() for name in names]


def layer(name: str, *, grouped: bool = False) -> torch.nn.Module:
    """Build the layer of an exhibit, or the right one, with the same first weights."""
    place = "attn_docs.examples.practice.bugs_that_train" if name == "right" else ""
    module = importlib.import_module(f"{place or 'attn_docs.exhibits.practice'}.{name}")
    torch.manual_seed(0)
    options = {"num_kv_heads": 2} if grouped else {}
    return module.Attention(EMBED_DIM, NUM_HEADS, **options)


@functools.cache
def losses(name: str, *, grouped: bool = False) -> tuple[float, ...]:
    """Train an exhibit, "right", or "none" for no attention at all; return the losses."""
    with one_thread():
        return tuple(train(None if name == "none" else layer(name, grouped=grouped)))


def step(module: torch.nn.Module, x: torch.Tensor, cache: torch.Tensor | None) -> tuple:
    """Attend from the newest words to all so far: a cache of words, so that m > n."""
    words = x if cache is None else torch.cat([cache, x], dim=1)
    return module(x, context=words, is_causal=True), words


@functools.cache
def report(name: str, *, grouped: bool = False) -> Report:
    """Check an exhibit, or "right"."""
    with one_thread():
        return check_module(
            layer(name, grouped=grouped),
            embed_dim=EMBED_DIM,
            causal=True,
            num_heads=NUM_HEADS,
            adapter=Adapter(step=step),
        )


@dataclass(frozen=True)
class Training:
    """What a run came to, beside the right layer's and no attention's."""

    first: float
    last: float
    right: float
    none: float

    @property
    def kind(self) -> str:
        """Return "same", "as well", "better", "as without" or "breaks"."""
        if math.isnan(self.last):
            return "breaks"
        if self.last == self.right:
            return "same"
        if self.last < self.right - 0.05:
            return "better"
        return "as without" if self.last > self.none - 0.05 else "as well"


def last(values: tuple[float, ...]) -> float:
    """Return the mean of the last ten losses."""
    return sum(values[-10:]) / 10


def training(name: str) -> Training:
    """Train an exhibit and compare."""
    grouped = BUGS[name].grouped
    mine, good = losses(name, grouped=grouped), losses("right", grouped=grouped)
    return Training(mine[0], last(mine), last(good), last(losses("none")))


def finding(name: str) -> Finding:
    """Return what the report on an exhibit says about the property it is shown under."""
    found = report(name, grouped=BUGS[name].grouped).findings
    return next(f for f in found if f.property == BUGS[name].property)


def verdicts(name: str) -> list[str]:
    """Return the verdict on each property, in the page's order."""
    found = {f.property: f.verdict for f in report(name, grouped=BUGS[name].grouped).findings}
    return [found[prop] for prop in COLUMNS]
