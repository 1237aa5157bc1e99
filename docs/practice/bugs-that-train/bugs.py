"""The exhibits of this part: in the page's order, loaded, trained and checked, each once."""

import functools
import importlib
import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch

from attn_docs.practice.bugs_that_train import (
    EMBED_DIM,
    LENGTH,
    NUM_HEADS,
    ROUND,
    WORDS,
    NextWord,
    fit,
    train,
)
from attn_docs.testing import Adapter, Finding, Report, check_module
from docs._kit.measure import one_thread
from docs._kit.measured import load as load_measured
from docs._tools.bugs import load

SECTIONS, BUGS = load()
COLUMNS = [prop for section in SECTIONS.values() for prop in section]
ORDER = [name for section in SECTIONS.values() for names in section.values() for name in names]

# layers whose maps are shown without their names: which is right is the first question of the page
QUIZ = {
    "A": "causal_only_in_training",
    "B": "ignored_mask",
    "C": "scrambled_heads",
    "D": "right",
}
MAPS = tuple(QUIZ.values())
# what they are given: three places of padding and then the same four tokens over and over
ROW = (0, 0, 0, 6, 2, 4, 3, 6, 2, 4, 3, 6)


def layer(name: str, *, grouped: bool = False, seed: int = 0) -> torch.nn.Module:
    """Build the layer of an exhibit, or the right one, with the same first weights."""
    place = "attn_docs.examples.practice.bugs_that_train" if name == "right" else ""
    module = importlib.import_module(f"{place or 'attn_docs.exhibits.practice'}.{name}")
    torch.manual_seed(seed)
    options = {"num_kv_heads": 2} if grouped else {}
    return module.Attention(EMBED_DIM, NUM_HEADS, **options)


@functools.cache
def losses(name: str, *, grouped: bool = False) -> tuple[float, ...]:
    """Train an exhibit, "right", or "none" for no attention at all; return the losses."""
    with one_thread():
        return tuple(train(None if name == "none" else layer(name, grouped=grouped)))


@functools.cache
def dependence(name: str, row: tuple[int, ...]) -> torch.Tensor:
    """Return how much of what moves each output of a trained layer comes from each token (n, n).

    It is the size of the gradient of an output with respect to a token, as a share of its row; a
    row is zero if nothing moves its output. The layer is in evaluation, on a row of the task.
    """
    tokens = torch.tensor([row])
    attention = layer(name)
    torch.manual_seed(0)
    model = NextWord(attention).double()
    with one_thread():
        fit(model)
        model.eval()
        mask = (tokens > 0)[:, None, None].repeat(1, 1, LENGTH, 1)  # b 1 n n
        x = (model.words(tokens) + model.places).detach()  # b n e

        def attend(x: torch.Tensor) -> torch.Tensor:
            output: torch.Tensor = attention(x, attn_mask=mask, is_causal=True)
            return output

        moves = torch.autograd.functional.jacobian(attend, x)[0, :, :, 0]  # n e n e
    sizes: torch.Tensor = moves.square().sum((1, 3)).sqrt()  # n n
    return sizes / sizes.sum(-1, keepdim=True).clamp_min(1e-12)


def taken(name: str) -> tuple[float, float]:
    """Return what the outputs take on average from three places back, and from later tokens.

    The first is of those tokens that can be known, the second of all but padding.
    """
    shares = dependence(name, ROW)
    first = ROW.count(0)
    known = range(first + ROUND - 1, len(ROW))
    back = sum(float(shares[at, at - ROUND + 1]) for at in known) / len(known)
    return back, float(shares.triu(1)[first:].sum(1).mean())


def step(module: torch.nn.Module, x: torch.Tensor, cache: torch.Tensor | None) -> tuple:
    """Attend from the newest tokens to all so far: a cache of tokens, so that m > n."""
    tokens = x if cache is None else torch.cat([cache, x], dim=1)
    return module(x, context=tokens, is_causal=True), tokens


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
    """What the runs of a layer ended at, one a seed, beside the right layer's and no attention's.

    The runs of a layer that breaks have no loss at the end, but a number of finite ones.
    """

    runs: tuple[float, ...]
    right: tuple[float, ...]
    none: tuple[float, ...]
    finite: int = 0

    @property
    def kind(self) -> str:
        """Return how it trains, as the data file says it: by the runs' lowest and highest."""
        if not self.runs:
            return "breaks"
        if self.runs == self.right:
            return "same"
        if max(self.runs) < floor():
            return "below floor"
        if max(self.runs) < min(self.right):
            return "better"
        if min(self.runs) <= max(self.right):
            return "as well"
        return "as without" if max(self.runs) >= min(self.none) else "slower"


def last(values: Sequence[float]) -> float:
    """Return the mean of the last ten losses."""
    return sum(values[-10:]) / 10


def entropy() -> float:
    """Return the loss of whoever knows nothing but how frequent the tokens are, in nats."""
    shares = [1 / token for token in range(1, WORDS)]
    return sum(-share / sum(shares) * math.log(share / sum(shares)) for share in shares)


def floor() -> float:
    """Return the least loss that is possible without seeing the answer.

    Of a row, the tokens after the first are predicted: 6 to 12, each number as likely. Tokens 2 to
    4 have not stood before and cannot be known. All others can.
    """
    predicted = range(LENGTH // 2, LENGTH + 1)
    return (ROUND - 1) * entropy() * len(predicted) / sum(predicted)


def ended(name: str, *, grouped: bool = False, steps: int = 60) -> tuple[float, ...]:
    """Return the stored losses that the runs of a layer ended at, one a seed."""
    of = {"layer": name, "grouped": grouped, "steps": steps, "quantity": "loss"}
    values = load_measured(__file__)["seeds"].values
    return tuple(found["value"] for found in values if of.items() <= found.items())


def training(name: str) -> Training:
    """Return what was measured of an exhibit and what it is compared with."""
    grouped = BUGS[name].grouped
    values = load_measured(__file__)["seeds"].values
    broken = [v["value"] for v in values if v["layer"] == name and v["unit"] == "steps"]
    right, none = ended("right", grouped=grouped), ended("none")
    return Training(ended(name, grouped=grouped), right, none, max(broken, default=0))


def finding(name: str) -> Finding:
    """Return what the report on an exhibit says about the property it is shown under."""
    found = report(name, grouped=BUGS[name].grouped).findings
    return next(f for f in found if f.property == BUGS[name].property)


def verdicts(name: str) -> list[str]:
    """Return the verdict on each property, in the page's order."""
    found = {f.property: f.verdict for f in report(name, grouped=BUGS[name].grouped).findings}
    return [found[prop] for prop in COLUMNS]
