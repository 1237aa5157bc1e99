"""What scaled dot-product attention costs, counted and measured, and what its softmax does."""

import functools
import itertools
import math

import torch
from torch import Tensor

from attn_docs import masked_softmax
from docs._kit.markdown import table
from docs._kit.measured import Measurement, load
from docs._kit.text import texts

from .benchmark import LARGEST, STEPS
from .benchmark import SIZES as LEARNING_SIZES

HEAD_DIM = 64
LENGTHS = (1024, 8192, 131072)


def flops(n: int, m: int, d: int, e: int) -> int:
    """Count the operations of QKᵀ and of weights times V, a multiply-add as two."""
    return 2 * n * m * d + 2 * n * m * e


def weight_bytes(n: int, m: int, dtype: torch.dtype = torch.float32) -> int:
    """Count the bytes of one head's weights."""
    return n * m * dtype.itemsize


def cost(language: str) -> str:
    """Return operations and memory of one head against length."""
    text = texts(__file__, "cost", language)
    rows = (
        (
            f"{n:,}",
            _billions(flops(n, n, HEAD_DIM, HEAD_DIM)),
            _bytes(weight_bytes(n, n)),
        )
        for n in LENGTHS
    )
    return f"{table(text['header'], rows)}\n\n{text['caption'].format(size=HEAD_DIM)}"


def _billions(count: int) -> str:
    return f"{count / 1e9:.2g} G" if count < 1e10 else f"{count / 1e9:,.0f} G"


def _bytes(count: int) -> str:
    size, unit = (count / 2**20, "MiB") if count >= 2**20 else (count / 2**10, "KiB")
    return f"{size:.0f} {unit}" if size < 1024 else f"{size / 1024:.0f} GiB"


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
TABULATED = (1, 4, 16, 64, 256, 512, 1024)


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


SHOWN = {"SGD": (0.03, 1.0), "Adam": (0.003, 0.03)}  # optimiser -> learning rates in the table


def learned(language: str) -> str:
    """Return the loss after training at some rates, with both optimisers and three sizes."""
    text, measured = texts(__file__, "learned", language), load(__file__)
    rows = []
    for optimiser, rates in SHOWN.items():
        losses = measured["learning_adam" if optimiser == "Adam" else "learning"]
        for rate, scaled in itertools.product(rates, (False, True)):
            found = [
                losses("loss", step=STEPS, d=d, scaled=scaled, rate=rate) for d in LEARNING_SIZES
            ]
            cells = (text["diverged"] if x >= LARGEST else f"{x:.2f}" for x in found)
            rows.append((optimiser, f"{rate:g}", text["division"][scaled], *cells))
    caption = text["caption"].format(steps=STEPS, guess=f"{math.log(8):.1f}")
    return f"{table(text['header'], rows)}\n\n{caption}"


def softmax(language: str) -> str:
    """Return what the softmax does with the scores of six keys, with and without the division."""
    text = texts(__file__, "softmax", language)
    rows = []
    for size in TABULATED:
        row = [f"{size:,}"]
        for scaled in (True, False):
            found = explored(int(math.log2(size)), scaled=scaled)
            row += [f"{found['weight'].max():.3f}", f"{found['entropy'].abs():.3f}"]
            row.append(f"{found['gradient']:.2g}")
        rows.append(tuple(row))
    return f"{table(text['header'], rows)}\n\n{text['caption'].format(keys=KEYS)}"


TABLES = {
    "additive": additive,
    "cost": cost,
    "learned": learned,
    "softmax": softmax,
}


def numbers() -> dict[str, str]:
    """Return the numbers that the chapter's sentences use."""
    measured, learned = load(__file__)["additive"], load(__file__)["learning"]
    torn = {"d": 512, "scaled": False, "rate": 1.0}
    rare = 0.5 * math.erfc(89 / math.sqrt(2 * 512))  # how often a score of deviation √512 passes 89
    length, batch = (measured.values[0][name] for name in ("length", "batch"))
    return {
        "all_weights": f"{batch * weight_bytes(length, length) / 2**20:.2g}",
        "fused_memory": _two_digits(measured("peak memory", way="pytorch")),
        "fused_time": f"{measured('time', way='pytorch'):.2g}",
        "first_loss": f"{learned('loss', step=0, **torn):.0f}",
        "second_loss": f"{learned('loss', step=1, **torn):.0f}",
        "third_loss": f"{round(learned('loss', step=2, **torn), -1):.0f}",
        "longest": f"{LENGTHS[-1]:,}",
        "longest_weights": _bytes(weight_bytes(LENGTHS[-1], LENGTHS[-1])),
        "blind_guess": f"{math.log(8):.1f}",
        "rare": f"{round(1 / rare, -3):,.0f}",
        "in_a_map": f"{512 * 512 * rare:.0f}",
        "float16_max": f"{torch.finfo(torch.float16).max:,.0f}",
    }
