"""The worked numbers of three scores and what each score costs."""

import math

import torch
import torch.nn.functional as F

from attn_docs import DotProductAttention, GaussianAttention
from docs._kit.markdown import table
from docs._kit.text import texts

QUERY = torch.tensor([[[2.0, 2.0]]], dtype=torch.float64)
KEY = torch.tensor([[[6.0, 1.0], [1.0, 1.0], [3.0, 2.0]]], dtype=torch.float64)
WORDS = ("the", "cat", "sleeps")
LENGTH, SIZE = 1024, 64
SCORES = ("dot", "cosine", "gaussian", "l1")


def operations(score: str, n: int, m: int, d: int) -> int:
    """Count the operations that make all scores, a root or an absolute value as one."""
    lengths = (n + m) * 3 * d + n + m  # square, add, divide by the root
    return {
        "dot": 2 * n * m * d + n * m,  # multiply, add; one scale a score
        "cosine": 2 * n * m * d + lengths,
        "gaussian": 4 * n * m * d + n * m,  # subtract, divide, square, add; one half a score
        "l1": 3 * n * m * d,  # subtract, absolute value, add
    }[score]


def largest_array(score: str, n: int, m: int, d: int) -> int:
    """Count the numbers in the largest array that a score makes on its way."""
    return n * m * d if score in ("gaussian", "l1") else n * m


def cost(language: str) -> str:
    """Return parameters, operations and largest array of each score, for one batch entry."""
    text = texts(__file__, "cost", language)
    sizes = (LENGTH, LENGTH, SIZE)
    rows = (
        (
            text[score],
            "1" if score == "cosine" else "0",
            f"{operations(score, *sizes) / 1e6:,.0f} M",
            f"{largest_array(score, *sizes) * 4 / 2**20:,.0f} MiB",
        )
        for score in SCORES
    )
    caption = text["caption"].format(length=LENGTH, size=SIZE)
    return f"{table(text['header'], rows)}\n\n{caption}"


TABLES = {"cost": cost}


def numbers() -> dict[str, str]:
    """Return the numbers that the chapter's sentences use."""
    result = {
        "best_cosine_share": f"{math.exp(2):.1f}",
        "blind_guess": f"{math.log(8):.1f}",
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
        for word, weight in zip(WORDS, weights[0, 0].tolist(), strict=True):
            result[f"{name}_weight_{word}"] = f"{weight:.4f}"
    for word, cosine, distance in zip(WORDS, cosines, distances, strict=True):
        result[f"cosine_{word}"] = f"{cosine:.4f}"
        result[f"gaussian_{word}"] = f"{distance:.1f}".replace("-", "−")
    return result
