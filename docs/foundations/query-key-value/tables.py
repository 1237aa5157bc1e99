"""The worked numbers of "the cat sleeps" and the cost of three projections."""

import math

import torch

from attn_docs.exhibits.foundations import mistyped_value
from docs._kit.markdown import table
from docs._kit.text import texts

WEIGHTS = torch.tensor([[0.2, 0.3, 0.5], [0.1, 0.8, 0.1], [0.3, 0.4, 0.3]], dtype=torch.float64)
VALUES = torch.tensor([[1.0, 0.0, 0.5], [0.0, 1.0, 0.3], [0.5, 0.5, 0.8]], dtype=torch.float64)
SIZES = ((64, 64), (768, 64), (4096, 128))


def mixing(language: str) -> str:  # noqa: ARG001 - formulas need no translation
    """Return the second row's weighted mean, one line a component."""
    lines = [
        " + ".join(f"{w:g} \\cdot {v:g}" for w, v in zip(WEIGHTS[1].tolist(), column, strict=True))
        + f" &= {mean:.2f}"
        for column, mean in zip(VALUES.T.tolist(), (WEIGHTS[1] @ VALUES).tolist(), strict=True)
    ]
    return "$$\n\\begin{aligned}\n" + " \\\\\n".join(lines) + "\n\\end{aligned}\n$$"


def projection_parameters(embed_dim: int, head_dim: int, value_dim: int) -> int:
    """Count the weights of the query, key and value projections, without bias."""
    return sum(
        torch.nn.Linear(embed_dim, size, bias=False, device="meta").weight.numel()
        for size in (head_dim, head_dim, value_dim)
    )


def cost(language: str) -> str:
    """Return parameters and operations of the three projections of one head."""
    text = texts(__file__, "cost", language)
    rows = (
        (f"{embed:,}", str(head), f"{count:,}", f"{2 * count:,}")
        for embed, head in SIZES
        for count in (projection_parameters(embed, head, head),)
    )
    return table(text["header"], rows)


TABLES = {"cost": cost, "mixing": mixing}


def numbers() -> dict[str, str]:
    """Return the numbers that the chapter's sentences use."""
    one = 1 / math.sqrt(3)
    total = math.exp(0) + math.exp(one) + math.exp(0)
    return {
        "exp_one": f"{math.exp(one):.4f}",
        "meant": f"{VALUES[2, 2]:g}",
        "mistyped": f"{mistyped_value.weighted_mean():.2f}",
        "scaled_one": f"{one:.4f}",
        "second_row": ", ".join(f"{w:g}" for w in WEIGHTS[1].tolist()),
        "sum_first_row": f"{total:.4f}",
        "third_component": f"{(WEIGHTS[1] @ VALUES)[2]:.2f}",
        "typed": f"{mistyped_value.third_column[2]:g}",
        "weight_high": f"{math.exp(one) / total:.4f}",
        "weight_low": f"{1 / total:.4f}",
    }
