"""What the four classes cost, and the worked numbers of the chapter."""

import difflib
from pathlib import Path
from typing import NamedTuple

import torch
from torch import nn

from attn_docs import (
    FusedSelfAttention,
    MaskedSelfAttention,
    ScaledDotProductSelfAttention,
    SelfAttention,
)
from attn_docs.sentence import WORDS
from docs._kit.markdown import table
from docs._kit.measured import load
from docs._kit.text import texts

from .benchmark import ROUNDS, SIZES
from .figures import scores_of_it, sentence_weights

EXAMPLES = Path(__file__).parents[3] / "attn_docs/examples/self_attention/four_steps"
SIZE, LENGTH = 512, 1024
IT, CAT = WORDS.index("it"), WORDS.index("cat")

# Vaswani et al., section 5.4 and table 3
PAPER = {
    "paper_base": "0.1",
    "paper_big": "0.3",
    "paper_none": "0.0",
    "paper_more": "0.2",
}


class Cost(NamedTuple):
    """What classes need, as formulas and as numbers."""

    names: list[str]
    parameters: str
    count: int
    operations: str
    total: int


def parameters(module: nn.Module) -> int:
    """Count the parameters of a module."""
    return sum(parameter.numel() for parameter in module.parameters())


def operations(length: int, input_dim: int, output_dim: int, *, output: bool) -> int:
    """Count the operations for a text: projections, scores, mix, and output projection."""
    projections = 6 * length * input_dim * output_dim
    attention = 4 * length**2 * output_dim
    return projections + attention + (2 * length * output_dim**2 if output else 0)


def costs() -> list[Cost]:
    """Return what the classes need for one text; the first three need the same."""
    kinds = (SelfAttention, FusedSelfAttention, MaskedSelfAttention)
    with torch.device("meta"):
        (three,) = {parameters(kind(SIZE, SIZE)) for kind in kinds}
        whole = parameters(ScaledDotProductSelfAttention(SIZE))
    first, all_of_it = (operations(LENGTH, SIZE, SIZE, output=output) for output in (False, True))
    names = [kind.__name__ for kind in kinds]
    return [
        Cost(names, "$3Dd + 3d$", three, "$6nDd + 4n^2d$", first),
        Cost(
            [ScaledDotProductSelfAttention.__name__],
            "$4d^2 + 4d$",
            whole,
            "$8nd^2 + 4n^2d$",
            all_of_it,
        ),
    ]


def cost(language: str) -> str:
    """Return parameters and operations of the four classes as a table."""
    text = texts(__file__, "cost", language)
    length = f"{LENGTH:,}".replace(",", "{,}")
    header = [name.format(size=SIZE, length=length) for name in text["header"]]
    rows = (
        (
            ", ".join(f"`{name}`" for name in found.names),
            found.parameters,
            f"{found.count / 1e6:.2f} M",
            found.operations,
            f"{found.total / 1e9:.1f} G",
        )
        for found in costs()
    )
    return table(header, rows)


def fused(language: str) -> str:
    """Return the measured times of three layers over those of one, a row for each size."""
    text, found = texts(__file__, "fused", language), load(__file__)["fused"]
    rows = []
    for sizes in SIZES:
        of = dict(zip(("batch", "words", "size"), sizes, strict=True))
        ratios = (found("time", run=run, **of) for run in ("forward", "both"))
        rows.append(
            (" × ".join(f"{size:,}" for size in sizes), *(f"{ratio:.2f}×" for ratio in ratios))
        )
    caption = found.caption(text["caption"].format(rounds=ROUNDS), language)
    return f"{table(text['header'], rows)}\n\n{caption}"


_STEPS = ("grow_1", "grow_2", "grow_3", "grow_4")  # the class after each of the four steps


def class_of(name: str) -> list[str]:
    """Return the lines of the class in an example of this page."""
    text = (EXAMPLES / f"{name}.py").read_text(encoding="utf-8")
    return text[text.index("class ") :].partition("\n\n\n")[0].splitlines()


def step(number: int) -> str:
    """Return what a step changes in the class, as a diff; the last one's class follows whole."""
    before, after = (class_of(_STEPS[index]) for index in (number - 2, number - 1))
    context = 1 if number == len(_STEPS) else len(before)
    lines = list(difflib.unified_diff(before, after, n=context, lineterm=""))[3:]
    if context == 1:
        lines = [" …" if line.startswith("@@") else line for line in lines if line.strip()]
    shown = (line.rstrip() for line in lines)
    return "\n".join(["```diff", *shown, "```"])


TABLES = {
    "cost": cost,
    "fused": fused,
    **{f"step-{n}": (lambda language, n=n: step(n)) for n in (2, 3, 4)},  # noqa: ARG005
}


def numbers() -> dict[str, str]:
    """Return the numbers that the chapter's sentences use."""
    weights, scores = sentence_weights(), scores_of_it()
    coins = torch.cartesian_prod(*[torch.tensor([0.0, 1.0])] * 5)
    mean = torch.softmax(2 * scores * coins, dim=-1).mean(dim=0)
    return {
        **PAPER,
        "it_cat": f"{weights[IT, CAT]:.2f}",
        "cat_asleep": f"{weights[CAT, WORDS.index('sleeps')]:.2f}",
        "sleeps_animal": f"{weights[WORDS.index('sleeps'), CAT]:.2f}",
        "score_cat": f"{1 / 5:.2f}",
        "score_mean_cat": f"{mean[CAT]:.2f}",
    }
