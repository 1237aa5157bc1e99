"""The exhibits of this part: in the page's order, loaded, trained and checked, each once."""

import difflib
import functools
import importlib
import math
from dataclasses import dataclass
from pathlib import Path

import torch

from attn_docs.examples.practice.bugs_that_train import right
from attn_docs.practice.bugs_that_train import EMBED_DIM, NUM_HEADS, train
from attn_docs.testing import Adapter, Finding, Report, check_module
from docs._kit.measure import one_thread

RIGHT = Path(right.__file__)
EXHIBITS = RIGHT.parents[3] / "exhibits" / "practice"

# each property, by the sections of the page, with the exhibits that are shown under it
SECTIONS: dict[str, dict[str, tuple[str, ...]]] = {
    "formula": {
        "oracle": (),
        "scale": ("missing_scale", "scaled_by_embed_dim", "scaled_twice"),
        "weights": ("softmax_over_queries", "softmax_over_heads"),
        "value projection": ("value_from_key", "value_is_input"),
        "projections": ("key_from_query",),
        "head layout": ("scrambled_heads", "merged_without_transpose"),
        "group order": ("tiled_key_heads",),
    },
    "mask": {
        "mask used": ("ignored_mask",),
        "mask polarity": ("inverted_mask",),
        "mask axis": ("transposed_mask",),
        "mask place": ("zero_fill", "zero_one_added", "mask_after_softmax"),
        "padding": ("small_number_added",),
        "empty rows": ("nan_in_empty_rows",),
        "packing": ("mask_for_all_queries",),
        "half precision": ("large_fill",),
    },
    "words": {
        "causality": (
            "causal_only_in_eval",
            "causal_only_in_training",
            "causal_off_by_one",
            "causal_inverted",
        ),
        "prefix": (),
        "cache": ("causal_from_the_first_key",),
        "batch": ("samples_mixed",),
        "permutation": (),
        "cross-attention": ("values_from_x",),
    },
    "chance": {
        "dropout": ("dropout_on_scores", "dropout_without_rescale"),
        "dropout off in eval": ("dropout_in_eval",),
        "input unchanged": ("mask_overwritten",),
        "deterministic": (),
    },
}
COLUMNS = [prop for section in SECTIONS.values() for prop in section]
PROPERTY = {
    name: prop for section in SECTIONS.values() for prop, names in section.items() for name in names
}
ORDER = list(PROPERTY)
GROUPED = ("tiled_key_heads",)  # with two key heads for four query heads


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
    grouped = name in GROUPED
    mine, good = losses(name, grouped=grouped), losses("right", grouped=grouped)
    return Training(mine[0], last(mine), last(good), last(losses("none")))


def finding(name: str) -> Finding:
    """Return what the report on an exhibit says about the property it is shown under."""
    found = report(name, grouped=name in GROUPED).findings
    return next(f for f in found if f.property == PROPERTY[name])


def verdicts(name: str) -> list[str]:
    """Return the verdict on each property, in the page's order."""
    found = {f.property: f.verdict for f in report(name, grouped=name in GROUPED).findings}
    return [found[prop] for prop in COLUMNS]


def source(name: str) -> str:
    """Return the text of an exhibit."""
    return (EXHIBITS / f"{name}.py").read_text(encoding="utf-8")


def changed(name: str) -> tuple[str, str]:
    """Return the wrong line and the right one, without what they say about themselves."""
    right_lines, wrong_lines = RIGHT.read_text(encoding="utf-8").splitlines(), source(name)
    wrong = next(line for line in wrong_lines.splitlines() if "  # wrong: " in line)
    matcher = difflib.SequenceMatcher(None, right_lines, wrong_lines.splitlines(), autojunk=False)
    replaced = [
        right_lines[a1:a2]
        for tag, a1, a2, b1, b2 in matcher.get_opcodes()
        if tag == "replace" and wrong in wrong_lines.splitlines()[b1:b2]
    ]
    ((good,),) = replaced
    return wrong.partition("  # wrong: ")[0].strip(), good.partition("  # ")[0].strip()
