"""What scaled dot-product attention costs, counted and measured, and what its softmax does."""

import functools
import math

import torch
import torch.nn.functional as F
from torch import Tensor

from attn_docs import masked_softmax
from docs._kit.markdown import table
from docs._kit.measured import Measurement, load
from docs._kit.text import texts

from .benchmark import SIZES

LONGEST = 131072  # tokens, the longest text of Llama 3.1


def weight_bytes(n: int, m: int, dtype: torch.dtype = torch.float32) -> int:
    """Count the bytes of one head's weights."""
    return n * m * dtype.itemsize


def additive(language: str) -> str:
    """Return what additive scores cost beside the dot product's."""
    return additive_table(load(__file__)["additive"], language)


def additive_table(measured: Measurement, language: str) -> str:
    """Return a measurement of the three ways to attend as a table, a row a way."""
    text = texts(__file__, "additive", language)
    rows = (
        (
            text[way],
            f"{measured('time', way=way):.2g}×",
            f"{_two_digits(measured('peak memory', way=way))} MiB",
            f"`{_kernel(measured, way)}`",
        )
        for way in ("additive", "dot", "pytorch-3-axes", "pytorch")
    )
    setting = {name: measured.values[0][name] for name in ("batch", "length", "size")}
    caption = measured.caption(text["caption"].format(**setting), language)
    return f"{table(text['header'], rows)}\n\n{caption}"


def _two_digits(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.2g}"


def _kernel(measured: Measurement, way: str) -> str:
    (kernel,) = {value["kernel"] for value in measured.values if value["way"] == way}
    return str(kernel).removeprefix("aten::")


POWERS = 11  # d = 1, 2, 4, …, 1024
KEYS = 6
SEED = 3


@functools.cache
def partial_scores() -> Tensor:
    """Return the dot products of a random query and six random keys after 1, 2, 4, … components.

    The components are independent and unit-normal. The scores are rounded to the four digits that
    the page holds, so that all that is computed from them agrees.
    """
    generator = torch.Generator().manual_seed(SEED)
    size = 2 ** (POWERS - 1)
    query = torch.randn(size, generator=generator, dtype=torch.float64)
    keys = torch.randn(KEYS, size, generator=generator, dtype=torch.float64)
    ends = [2**power - 1 for power in range(POWERS)]
    return (query * keys).cumsum(-1)[:, ends].mT.round(decimals=4)


def explored(power: int, *, scaled: bool = True, temperature: float = 1.0) -> dict[str, Tensor]:
    """Return scores, logits, weights, and the weights' entropy and the length of their Jacobian."""
    scores = partial_scores()[power]
    logits = scores * (2 ** (-power / 2) if scaled else 1.0) / temperature
    weights = masked_softmax(logits)
    jacobian = weights.diag() - weights.unsqueeze(1) * weights
    return {
        "score": scores,
        "logit": logits,
        "weight": weights,
        "entropy": torch.special.entr(weights).sum(),
        "gradient": jacobian.norm(),
    }


@functools.cache
def moved_scores(d: int) -> float:
    """Return how many times as far the first step of SGD moves the scores without the division.

    The layer, the inputs and the loss are those of the page's example.
    """
    moved = []
    for scale in (1.0, d**-0.5):
        generator = torch.Generator().manual_seed(0)
        key = torch.randn(16, 8, d, generator=generator)
        query = key + 0.1 * torch.randn(16, 8, d, generator=generator)
        matrices = [  # as torch.nn.Linear draws them
            torch.empty(d, d).uniform_(-(d**-0.5), d**-0.5, generator=generator).requires_grad_()
            for _ in range(2)
        ]
        scores = query @ matrices[0] @ (key @ matrices[1]).mT * scale
        answers = torch.arange(8).repeat(16)
        F.cross_entropy(scores.flatten(0, 1), answers).backward()
        with torch.no_grad():
            w_q, w_k = (matrix - _RATE * matrix.grad for matrix in matrices)
            moved.append((query @ w_q @ (key @ w_k).mT * scale - scores).norm().item())
    return moved[0] / moved[1]


_RATE = 0.001  # so small that the step is as long as the gradient says

TABLES = {"additive": additive}


def numbers() -> dict[str, str]:
    """Return the numbers that the chapter's sentences use."""
    measured, learned = load(__file__)["additive"], load(__file__)["learning"]
    torn = {"d": 512, "scaled": False, "rate": 1.0}
    length, batch = (measured.values[0][name] for name in ("length", "batch"))
    return {
        "all_weights": f"{batch * weight_bytes(length, length) / 2**20:.2g}",
        "fused_memory": _two_digits(measured("peak memory", way="pytorch")),
        "fused_time": f"{measured('time', way='pytorch'):.2g}",
        "first_loss": f"{learned('loss', step=0, **torn):.0f}",
        "second_loss": f"{learned('loss', step=1, **torn):.0f}",
        "third_loss": f"{round(learned('loss', step=2, **torn), -1):.0f}",
        "longest": f"{LONGEST:,}",
        "longest_weights": f"{weight_bytes(LONGEST, LONGEST) / 2**30:.0f} GiB",
        "blind_guess": f"{math.log(8):.1f}",
        **{f"moved_{d}": f"{float(f'{moved_scores(d):.1g}'):.0f}" for d in SIZES},
        "float16_max": f"{torch.finfo(torch.float16).max:,.0f}",
    }
