"""What additive attention costs, and the numbers of its worked example."""

import math
from pathlib import Path

import torch

from attn_docs import AdditiveAttention
from docs._kit.markdown import table
from docs._kit.measured import load
from docs._kit.text import texts

SIZE = 64
MEASURED = Path(__file__).parents[1] / "scaled-dot-product" / "tables.py"  # beside its numbers
LENGTHS = (128, 1024, 8192)


def parameters(query_dim: int, key_dim: int, hidden_dim: int) -> int:
    """Count the parameters of the module itself."""
    module = AdditiveAttention(query_dim, key_dim, hidden_dim)
    return sum(parameter.numel() for parameter in module.parameters())


def operations(n: int, m: int, q: int, k: int, h: int) -> int:
    """Count the score's operations: a multiply-add as two, a sum or a tanh as one."""
    return 2 * n * q * h + 2 * m * k * h + n * m * (h + h + 2 * h)


def hidden_bytes(n: int, m: int, h: int, dtype: torch.dtype = torch.float32) -> int:
    """Count the bytes of the tensor (n, m, h) that is made on the way to the scores."""
    return n * m * h * dtype.itemsize


def size(number: int) -> str:
    """Return a number of bytes in a unit that one can hold."""
    units = {"KiB": 2**10, "MiB": 2**20, "GiB": 2**30}
    name = max((name for name in units if number >= units[name]), key=units.__getitem__)
    return f"{number / units[name]:.3g} {name}"


def count(number: int) -> str:
    """Return a number of operations in millions or billions."""
    unit, name = (1e9, "G") if number >= 1e9 else (1e6, "M")
    return f"{number / unit:.3g} {name}"


def cost(language: str) -> str:
    """Return the score's operations and memory against length, beside the dot product's."""
    text = texts(__file__, "cost", language)
    rows = (
        (
            f"{n:,}",
            count(operations(n, n, SIZE, SIZE, SIZE)),
            count(2 * n * n * SIZE),
            size(hidden_bytes(n, n, SIZE)),
            size(hidden_bytes(n, n, 1)),
        )
        for n in LENGTHS
    )
    caption = text["caption"].format(size=SIZE, count=parameters(SIZE, SIZE, SIZE))
    return f"{table(text['header'], rows)}\n\n{caption}"


TABLES = {"cost": cost}


def numbers() -> dict[str, str]:
    """Return the numbers that the chapter's sentences use."""
    one, two = math.tanh(1), math.tanh(2)
    scores = torch.tensor([-one - two, -two, -2 * one], dtype=torch.float64)
    weights = torch.softmax(scores, dim=-1)
    return {
        "gain_wants": f"{one:.2f}",
        "gain_other": f"{two - one:.2f}",
        "score_cat": f"{-scores[1]:.4f}",
        "score_sleeps": f"{-scores[2]:.4f}",
        "score_the": f"{-scores[0]:.4f}",
        "time": f"{load(str(MEASURED))['additive']('time', way='additive'):.0f}",
        "tanh_one": f"{one:.4f}",
        "tanh_two": f"{two:.4f}",
        "weight_cat": f"{weights[1]:.2f}",
    }
