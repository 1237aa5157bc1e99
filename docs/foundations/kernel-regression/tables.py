"""The numbers of the worked example, and what kernel regression costs."""

import math

import torch

from attn_docs import KernelRegression, nadaraya_watson
from docs._kit.markdown import table
from docs._kit.text import texts

KEYS, VALUES = (0.0, 1.0, 3.0), (2.0, 4.0, 10.0)
QUERY = 2.0
LENGTHS = (40, 1000, 4000)


def operations(n: int, m: int) -> int:
    """Count, softmax apart: subtract, divide, square, times −½; then multiply and add."""
    return (4 + 2) * n * m


def weight_bytes(n: int, m: int, dtype: torch.dtype = torch.float32) -> int:
    """Count the bytes of the weights."""
    return n * m * dtype.itemsize


def cost(language: str) -> str:
    """Return parameters, operations and memory against the number of pairs."""
    text = texts(__file__, "cost", language)
    parameters = sum(p.numel() for p in KernelRegression().parameters())
    rows = (
        (
            f"{m:,}",
            str(parameters),
            f"{2 * m:,}",
            f"{operations(m, m):,}",
            f"{weight_bytes(m, m) / 2**20:,.2g} MiB",
        )
        for m in LENGTHS
    )
    return f"{table(text['header'], rows)}\n\n{text['caption']}"


TABLES = {"cost": cost}


def numbers() -> dict[str, str]:
    """Return the numbers that the chapter's sentences use."""
    powers = [math.exp(-0.5 * (QUERY - key) ** 2) for key in KEYS]
    keys, values = torch.tensor(KEYS), torch.tensor(VALUES)
    asked = nadaraya_watson(torch.tensor([1.9, 2.0, 2.1]), keys, values).tolist()
    return {
        "at_19": f"{asked[0]:.2f}",
        "at_21": f"{asked[2]:.2f}",
        "mean": f"{sum(VALUES) / len(VALUES):.2f}",
        "output": f"{asked[1]:.4f}",
        "power_far": f"{powers[0]:.4f}",
        "power_near": f"{powers[1]:.4f}",
        "share_far": f"{powers[0] / sum(powers):.4f}",
        "share_near": f"{powers[1] / sum(powers):.4f}",
        "sum_powers": f"{sum(powers):.4f}",
    }
