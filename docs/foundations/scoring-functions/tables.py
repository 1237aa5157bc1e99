"""The worked numbers of three scores and what each score costs."""

import math

import torch
import torch.nn.functional as F

from attn_docs import DotProductAttention, GaussianAttention
from docs._kit.markdown import table
from docs._kit.measured import Measurement, load
from docs._kit.text import texts

QUERY = torch.tensor([[[2.0, 2.0]]], dtype=torch.float64)
KEY = torch.tensor([[[6.0, 1.0], [1.0, 1.0], [3.0, 2.0]]], dtype=torch.float64)
NAMES = ("long", "aligned", "near")
LENGTH, SIZE = 1024, 64
LEAST, MOST = 50, 200  # of the ratios by differences, in several runs; some were larger
SCORES = ("dot", "cosine", "gaussian-expanded", "gaussian-cdist", "gaussian", "l1")


def operations(score: str, n: int, m: int, d: int) -> int:
    """Count the operations that make all scores, a root or an absolute value as one."""
    lengths = (n + m) * 3 * d + n + m  # square, add, divide by the root
    return {
        "dot": 2 * n * m * d + n * m,  # multiply, add; one scale a score
        "cosine": 2 * n * m * d + lengths,
        "gaussian-expanded": 2 * n * m * d + 2 * n * m + 2 * (n + m) * d,  # dot, and the lengths
        "gaussian-cdist": 3 * n * m * d + 3 * n * m,  # subtract, square, add; root, square, half
        "gaussian": 4 * n * m * d + n * m,  # subtract, divide, square, add; one half a score
        "l1": 3 * n * m * d,  # subtract, absolute value, add
    }[score]


def largest_array(score: str, n: int, m: int, d: int) -> int:
    """Count the numbers in the largest array that a score makes on its way."""
    return n * m * d if score in ("gaussian", "l1") else n * m


def cost(language: str) -> str:
    """Return what each score costs for one batch entry, counted and measured."""
    return cost_table(load(__file__)["scores"], language)


def cost_table(measured: Measurement, language: str) -> str:
    """Return counts and a measurement of the time as a table, a row a score."""
    text = texts(__file__, "cost", language)
    sizes = (LENGTH, LENGTH, SIZE)
    rows = (
        (
            text[score],
            "1" if score == "cosine" else "0",
            f"{operations(score, *sizes) / 1e6:,.0f} M",
            f"{largest_array(score, *sizes) * 4 / 2**20:,.0f} MiB",
            _ratio(measured("time", score=score)),
        )
        for score in SCORES
    )
    caption = measured.caption(text["caption"].format(length=LENGTH, size=SIZE), language)
    return f"{table(text['header'], rows)}\n\n{caption}"


def _ratio(ratio: float) -> str:
    if ratio > LEAST:  # memory decides, and runs differ by a factor of several
        return f"> {LEAST}×"
    return f"{ratio:.0f}×"


TABLES = {"cost": cost}


def numbers() -> dict[str, str]:
    """Return the numbers that the chapter's sentences use."""
    sizes = (LENGTH, LENGTH, SIZE)
    result = {
        "best_cosine_share": f"{math.exp(2):.1f}",
        "blind_guess": f"{math.log(8):.1f}",
        "gaussian_operations": f"{operations('gaussian', *sizes) / operations('dot', *sizes):.0f}",
        "differences_least": str(LEAST),
        "differences_most": str(MOST),
        "expanded_time": _ratio(load(__file__)["scores"]("time", score="gaussian-expanded"))[:-1],
        "largest_over_scores": f"{largest_array('gaussian', LENGTH, LENGTH, SIZE) // LENGTH**2}",
    }
    cosines = F.cosine_similarity(QUERY, KEY, dim=-1)[0].tolist()
    gaussian = GaussianAttention()
    distances = gaussian.score(QUERY, KEY)[0, 0].tolist()
    for attend, name in ((DotProductAttention(), "dot"), (gaussian, "gaussian")):
        output, weights = attend(
            QUERY, KEY, torch.tensor([[[10.0], [20.0], [30.0]]]).double(), need_weights=True
        )
        result[f"{name}_output"] = f"{output.item():.2f}"
        for key, weight in zip(NAMES, weights[0, 0].tolist(), strict=True):
            result[f"{name}_weight_{key}"] = f"{weight:.4f}"
    for key, cosine, distance in zip(NAMES, cosines, distances, strict=True):
        result[f"cosine_{key}"] = f"{cosine:.4f}"
        result[f"gaussian_{key}"] = f"{distance:.1f}".replace("-", "−")
    return result
