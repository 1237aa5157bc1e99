"""Tables and numbers of the chapter on stable and online softmax."""

import math
from collections.abc import Callable
from functools import cache

import torch
from torch import Tensor

from attn_docs.exhibits.kernels import (
    accumulator_not_rescaled,
    maximum_from_zero,
    maximum_of_all_rows,
    maximum_of_block,
)
from attn_docs.testing import check_attention
from docs._kit.examples import example
from docs._kit.markdown import table
from docs._kit.text import texts

DTYPES = (torch.float16, torch.bfloat16, torch.float32)
EXHIBITS = {
    module.__name__.rpartition(".")[2]: module.attention
    for module in (
        accumulator_not_rescaled,
        maximum_from_zero,
        maximum_of_block,
        maximum_of_all_rows,
    )
}
KEYS, BLOCK, FAR = 8, 4, 200.0
COUNTS = tuple(2**power for power in range(6, 15))
ORDERS = ("one", "block", "pairs")
ORDER_BLOCK, ROWS = 64, 256
FAR_SCORE = 2000.0  # the scores of the page's first sentence
MANY = 2**17  # keys that each underflow in float16, 18 below the best


def edge(dtype: torch.dtype, *, upper: bool) -> float:
    """Return the score where the exponential becomes infinite, or becomes zero, in a format."""
    low, high = (0.0, 1000.0) if upper else (-1000.0, 0.0)
    while high - low > 1e-4:
        middle = (low + high) / 2
        power = torch.tensor(middle, dtype=torch.float64).exp().to(dtype).item()
        if power == (math.inf if upper else 0.0):
            low, high = (low, middle) if upper else (middle, high)
        else:
            low, high = (middle, high) if upper else (low, middle)
    return high


def formats(language: str) -> str:
    """Return where the exponential leaves the range of each format, and how finely it rounds."""
    text = texts(__file__, "formats", language)
    rows = (
        (
            str(dtype).removeprefix("torch."),
            _large(torch.finfo(dtype).max),
            f"{edge(dtype, upper=True):.1f}",
            f"{edge(dtype, upper=False):.1f}".replace("-", "−"),
            f"$2^{{{math.log2(torch.finfo(dtype).eps):.0f}}}$",
        )
        for dtype in DTYPES
    )
    return table(text["header"], rows)


def _large(number: float) -> str:
    if number < 1e6:
        return f"{number:,.0f}"
    power = math.floor(math.log10(number))
    return rf"${number / 10**power:.1f} \cdot 10^{{{power}}}$"


def inputs() -> dict[str, Tensor]:
    """Return scores of two queries against eight keys, by what is special in them."""
    scores = torch.randn(2, KEYS, generator=torch.Generator().manual_seed(1)) / 2
    later = torch.arange(KEYS) >= BLOCK
    return {
        "first": scores + 3.0 * ~later,
        "later": scores + 3.0 * later,
        "below": scores - FAR,
        "falls": scores - FAR * later,
        "rows": scores - torch.tensor([[0.0], [FAR]]),
    }


def verdict(found: Tensor, wanted: Tensor) -> str:
    """Return what a reader of the output would see: "right", "wrong" or "nan"."""
    if not found.isfinite().all():
        return "nan"
    return "right" if torch.allclose(found, wanted, atol=1e-5) else "wrong"


@cache
def verdicts() -> dict[str, dict[str, str]]:
    """Return, by wrong version, what becomes of each input and what the checker says."""
    value = torch.randn(KEYS, 2, generator=torch.Generator().manual_seed(2))
    found = {}
    for name, attend in EXHIBITS.items():
        found[name] = {"checker": check_attention(attend).verdict}
        for special, scores in inputs().items():
            # with these keys the scaled scores are the ones wanted
            output = attend(scores * math.sqrt(KEYS), torch.eye(KEYS), value, block=BLOCK)
            found[name][special] = verdict(output, torch.softmax(scores, -1) @ value)
    return found


def caught(language: str) -> str:
    """Return which input shows which wrong version."""
    text = texts(__file__, "caught", language)
    rows = (
        (text["names"][name], *(text["verdicts"][row[each]] for each in (*inputs(), "checker")))
        for name, row in verdicts().items()
    )
    return table(text["header"], rows, words=range(len(text["header"])))


@cache
def order_errors() -> dict[str, tuple[float, ...]]:
    """Return the error of a float32 sum of powers, by its order, for each number of keys.

    The mean over rows of random powers from 0 to 1, in units in the last place of the sum. Each
    addition is of two numbers, so that no library chooses an order.
    """
    powers = torch.rand(ROWS, COUNTS[-1], generator=torch.Generator().manual_seed(0))
    one, blocks, block = torch.zeros(ROWS), torch.zeros(ROWS), torch.zeros(ROWS)
    found: dict[str, list[float]] = {name: [] for name in ORDERS}
    for index, column in enumerate(powers.T.contiguous(), start=1):
        one, block = one + column, block + column
        if index % ORDER_BLOCK == 0:
            blocks, block = blocks + block, torch.zeros(ROWS)
        if index in COUNTS:
            exact = powers[:, :index].double().sum(-1)
            last_place = 2.0 ** (exact.log2().floor() - 23)
            for name, total in zip(ORDERS, (one, blocks, _pairs(powers[:, :index])), strict=True):
                found[name].append(((total - exact).abs() / last_place).mean().item())
    return {name: tuple(errors) for name, errors in found.items()}


def _pairs(powers: Tensor) -> Tensor:
    while powers.size(-1) > 1:
        powers = powers[:, ::2] + powers[:, 1::2]
    return powers[:, 0]


TABLES: dict[str, Callable[[str], str]] = {"formats": formats, "caught": caught}


def numbers() -> dict[str, str]:
    """Return the numbers that the chapter's sentences use."""
    errors, rule = order_errors(), example("kernels/softmax/rule")
    wrong = (rule["mine"] / rule["theirs"]).item()
    stuck = example("kernels/softmax/ones")["total"].item()
    scores = torch.tensor([4.0, 3.0, 3.0, 1.0])
    return {
        **{
            f"best_{name}": f"{torch.softmax(scores / temperature, -1)[0]:.2f}"
            for name, temperature in (("warm", 4), ("plain", 1), ("cold", 0.25))
        },
        "float16_over": f"{edge(torch.float16, upper=True):.1f}",
        "float32_under": f"{edge(torch.float32, upper=False):.0f}".replace("-", "−"),
        "float16_max": _large(torch.finfo(torch.float16).max),
        "stuck": _large(stuck),
        "after_stuck": _large(stuck * (1 + torch.finfo(torch.float16).eps)),
        "ones": _large(2 * stuck),
        "many": f"{MANY:,}",
        "many_weigh": f"{MANY / (MANY + math.exp(18)):.1%}",
        "wrong_millions": f"{wrong / 1e6:.0f}",
        "far": f"{FAR_SCORE:,.0f}",
        "draws": str(ROWS),
        "longest": f"{COUNTS[-1]:,}",
        "order_block": str(ORDER_BLOCK),
        **{f"error_{name}": f"{errors[name][-1]:.2g}" for name in ORDERS},
    }
