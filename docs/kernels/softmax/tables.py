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
FEW_KEYS, MANY_KEYS, LIBRARY_ROWS = 1024, 2**17, 64
FAR_SCORE = 2000.0  # the scores of the page's first sentence


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


def _small(number: float) -> str:
    digit, power = f"{number:.0e}".split("e")
    return rf"${digit} \cdot 10^{{{int(power)}}}$"


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


@cache
def library_errors(count: int) -> tuple[float, float]:
    """Return the mean error of torch.softmax's sum of so many powers, and of torch.sum's, in ulp.

    The sum inside torch.softmax is read off the weight of the best key, whose power is 1.
    """
    generator = torch.Generator().manual_seed(0)
    scores = torch.rand(LIBRARY_ROWS, count, generator=generator).log()
    scores[:, 0] = 0
    powers = scores.exp()
    exact = powers.double().sum(-1)
    last_place = 2.0 ** (exact.log2().floor() - 23)
    inside = 1 / torch.softmax(scores, -1)[:, 0].double()
    first, second = (
        ((total - exact).abs() / last_place).mean().item()
        for total in (inside, powers.sum(-1).double())
    )
    return first, second


@cache
def lse_errors() -> tuple[float, float]:
    """Return the mean relative error of weights at scores near FAR_SCORE, in float32.

    Made from the log-sum-exp, and made from maximum and sum.
    """
    scores = torch.randn(64, 512, generator=torch.Generator().manual_seed(0)) + FAR_SCORE
    exact = torch.softmax(scores.double(), -1)
    top = scores.amax(-1, keepdim=True)
    powers = torch.exp(scores - top)
    total = powers.sum(-1, keepdim=True)
    one, two = (
        ((weights - exact).abs() / exact).mean().item()
        for weights in (torch.exp(scores - (top + total.log())), powers / total)
    )
    return one, two


TABLES: dict[str, Callable[[str], str]] = {"formats": formats, "caught": caught}


def numbers() -> dict[str, str]:
    """Return the numbers that the chapter's sentences use."""
    errors, rule = order_errors(), example("kernels/softmax/rule")
    wrong = (rule["mine"] / rule["theirs"]).item()
    many = library_errors(MANY_KEYS)
    lse_one, lse_two = lse_errors()
    stuck = example("kernels/softmax/ones")["total"].item()
    scores = example("kernels/softmax/smooth_maximum")["scores"]
    return {
        **{
            f"best_{name}": f"{torch.softmax(scores / temperature, -1)[0]:.2f}"
            for name, temperature in (("warm", 4), ("plain", 1), ("cold", 0.25))
        },
        "float16_over": f"{edge(torch.float16, upper=True):.1f}",
        "float32_over": f"{edge(torch.float32, upper=True):.1f}",
        "float16_under": f"{edge(torch.float16, upper=False):.1f}".replace("-", "−"),
        "float32_under": f"{edge(torch.float32, upper=False):.0f}".replace("-", "−"),
        "float16_max": _large(torch.finfo(torch.float16).max),
        "stuck": _large(stuck),
        "after_stuck": _large(stuck * (1 + torch.finfo(torch.float16).eps)),
        "ones": _large(2 * stuck),
        "float32_normal": f"{math.log(torch.finfo(torch.float32).tiny):.0f}".replace("-", "−"),
        "wrong_millions": f"{wrong / 1e6:.0f}",
        "many_keys": f"{MANY_KEYS:,}",
        "few_keys": f"{FEW_KEYS:,}",
        "sum_many": f"{many[1]:.1f}",
        "far": f"{FAR_SCORE:,.0f}",
        "far_step": _small(2.0 ** (math.floor(math.log2(FAR_SCORE)) - 23)),
        "far_one": _small(lse_one),
        "far_two": _small(lse_two),
        "draws": str(ROWS),
        "longest": f"{COUNTS[-1]:,}",
        "order_block": str(ORDER_BLOCK),
        **{f"error_{name}": f"{errors[name][-1]:.2g}" for name in ORDERS},
    }
