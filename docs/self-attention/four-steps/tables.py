"""What the four classes cost, and the worked numbers of the chapter."""

import math
from typing import NamedTuple

import torch
from torch import nn

from attn_docs import (
    FusedSelfAttention,
    MaskedSelfAttention,
    ScaledDotProductSelfAttention,
    SelfAttention,
    attention_weights,
)
from docs._kit.markdown import table
from docs._kit.measured import load
from docs._kit.text import texts

from .benchmark import ROUNDS, SIZES

SIZE, LENGTH = 512, 1024
SCORES = torch.tensor([0.0, 2.0, 1.0], dtype=torch.float64)  # "sleeps" against the three words

# Vaswani et al., section 5.4 and table 3
PAPER = {
    "paper_base": "0.1",
    "paper_big": "0.3",
    "paper_none": "0.0",
    "paper_more": "0.2",
}


class Cost(NamedTuple):
    """What one class needs, as formulas and as numbers."""

    name: str
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
    """Return what each of the four classes needs for one text."""
    three = ("$3Dd + 3d$", "$6nDd + 4n^2d$")
    found = []
    with torch.device("meta"):
        for kind in (SelfAttention, FusedSelfAttention, MaskedSelfAttention):
            count = parameters(kind(SIZE, SIZE))
            total = operations(LENGTH, SIZE, SIZE, output=False)
            found.append(Cost(kind.__name__, three[0], count, three[1], total))
        count = parameters(ScaledDotProductSelfAttention(SIZE))
        total = operations(LENGTH, SIZE, SIZE, output=True)
        name = ScaledDotProductSelfAttention.__name__
        found.append(Cost(name, "$4d^2 + 4d$", count, "$8nd^2 + 4n^2d$", total))
    return found


def cost(language: str) -> str:
    """Return parameters, operations and weights of the four classes as a table."""
    text = texts(__file__, "cost", language)
    length = f"{LENGTH:,}".replace(",", "{,}")
    header = [name.format(size=SIZE, length=length) for name in text["header"]]
    rows = (
        (
            f"`{found.name}`",
            found.parameters,
            f"{found.count:,}",
            found.operations,
            f"{found.total:,}",
            f"{LENGTH**2:,}",
        )
        for found in costs()
    )
    return table(header, rows)


def fused(language: str) -> str:
    """Return the measured times and peaks of three layers and of one, a row for each size."""
    text, found = texts(__file__, "fused_table", language), load(__file__)["fused"]
    rows = []
    for sizes in SIZES:
        of = dict(zip(("batch", "words", "size"), sizes, strict=True))
        rows.append(
            (
                " × ".join(f"{size:,}" for size in sizes),
                *(f"{found('time', run=run, **of):.2f}×" for run in ("forward", "both")),
                *(f"{found('peak', layers=layers, **of):,.0f} KiB" for layers in (3, 1)),
            )
        )
    caption = found.caption(text["caption"].format(rounds=ROUNDS), language)
    return f"{table(text['header'], rows)}\n\n{caption}"


TABLES = {"cost": cost, "fused": fused}


def numbers() -> dict[str, str]:
    """Return the numbers that the chapter's sentences use."""
    first = torch.softmax(torch.tensor([0.0, 1.0, 0.0], dtype=torch.float64), dim=-1)
    last = torch.softmax(SCORES, dim=-1)
    keep = torch.tensor([1.0, 0.0, 1.0], dtype=torch.float64)
    dropped = torch.softmax(2 * SCORES * keep, dim=-1)
    coins = torch.cartesian_prod(*[torch.tensor([0.0, 1.0], dtype=torch.float64)] * 3)
    mean = torch.softmax(2 * SCORES * coins, dim=-1).mean(dim=0)
    words = torch.tensor([[1.0, 0, 0, 0], [0, 1, 0, 1], [0, 0, 1, 1]])
    alone = attention_weights(words, words)
    return {
        **PAPER,
        "alone_cat": f"{alone[1, 1]:.2f}",
        "alone_the": f"{alone[0, 0]:.2f}",
        "exp_one": f"{math.e:.3f}",
        "exp_two": f"{math.e**2:.3f}",
        "sum_first": f"{2 + math.e:.3f}",
        "sum_last": f"{1 + math.e + math.e**2:.3f}",
        "weight_low": f"{first[0]:.3f}",
        "weight_high": f"{first[1]:.3f}",
        "last_the": f"{last[0]:.3f}",
        "last_cat": f"{last[1]:.3f}",
        "last_sleeps": f"{last[2]:.3f}",
        "score_cat": f"{dropped[1]:.2f}",
        "score_mean_cat": f"{mean[1]:.2f}",
        "mean_cat": f"{last[1]:.2f}",
    }
