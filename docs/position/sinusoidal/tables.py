"""What is added, by whom and how well it is learned from, and the numbers of the chapter."""

import statistics
from collections.abc import Callable
from importlib import metadata

import torch
from torch import Tensor
from torch.nn import functional

from attn_docs import sinusoidal
from attn_docs.exhibits.position import (
    cosine_half_a_step_off,
    cosine_of_the_sine,
    exponent_doubled,
    exponent_of_dimensions,
)
from docs._kit.examples import example
from docs._kit.markdown import table
from docs._kit.measured import Measurement, load
from docs._kit.text import texts

from . import benchmark

SIZE, POSITIONS, APART = 64, 4096, 3
TABLES_OF: dict[str, Callable[..., Tensor]] = {
    "right": sinusoidal,
    "dimensions": exponent_of_dimensions.table,
    "half_step": cosine_half_a_step_off.table,
    "cosine_of_sine": cosine_of_the_sine.table,
    "doubled": exponent_doubled.table,
}
STEPS = (100, 200, 300)


def rows(kind: str, count: int = POSITIONS) -> Tensor:
    """Return the vectors of the first positions, of the right kind or a wrong one."""
    return TABLES_OF[kind](torch.arange(count).double(), SIZE)


def products(kind: str, apart: int, count: int = POSITIONS) -> tuple[float, float]:
    """Return the least and greatest product of two vectors so far apart, over that with itself."""
    found = rows(kind, count + abs(apart)) / (SIZE / 2) ** 0.5
    far = (found[abs(apart) :] * found[: len(found) - abs(apart)]).sum(-1)
    return far.min().item(), far.max().item()


def layouts(language: str) -> str:
    """Return how models of transformers lay out what they add."""
    text = texts(__file__, "layouts", language)
    found = example("position/sinusoidal/who")["found"]
    models: dict[tuple[str, str], list[str]] = {}
    for name, laid_out in found.items():
        models.setdefault(laid_out, []).append(name)
    body = [
        (text["comma"].join(names), f"`{order}`", f"${steps}$")
        for (order, steps), names in models.items()
    ]
    return table(text["header"], body, words=(0, 1))


def _percent(value: float) -> str:
    return f"{100 * value:.0f}%"


def right(found: Measurement, kind: str, step: int) -> float:
    """Return the mean over the seeds of how many tokens are right after some steps."""
    return statistics.mean(
        found("right", kind=kind, seed=seed, step=step) for seed in benchmark.SEEDS
    )


def beyond(found: Measurement, kind: str) -> float:
    """Return the mean over the seeds of how many are right beyond the trained length."""
    return statistics.mean(found("beyond", kind=kind, seed=seed) for seed in benchmark.SEEDS)


def trained(language: str) -> str:
    """Return what decoders learned with each kind of positions."""
    text, names = (texts(__file__, group, language) for group in ("trained", "kinds"))
    found = load(__file__)["kinds"]
    body = [
        (
            names[kind],
            *(_percent(right(found, kind, step)) for step in STEPS),
            _percent(beyond(found, kind)),
        )
        for kind in benchmark.KINDS
    ]
    caption = text["caption"].format(
        seeds=len(benchmark.SEEDS), back=benchmark.BACK, tokens=benchmark.TOKENS,
        length=benchmark.LENGTH, last=benchmark.LENGTH - 1, later=2 * benchmark.LENGTH - 1,
        first=benchmark.LENGTH, dim=benchmark.DIM, heads=benchmark.HEADS,
        rate=benchmark.RATE, batch=benchmark.BATCH,
        forgotten=f"1/{benchmark.DIM**0.5:.0f}", twice=f"{benchmark.DIM**0.5:.0f}",
    )  # fmt: skip
    return f"{table(text['header'], body)}\n\n{found.caption(caption, language)}"


TABLES: dict[str, Callable[[str], str]] = {
    "layouts": layouts,
    "trained": trained,
}


def from_the_bag(first: int, last: int) -> float:
    """Return how often the commonest token so far is the one asked for, at these positions."""
    drawn = torch.Generator().manual_seed(0)
    tokens = torch.randint(benchmark.TOKENS, (4096, last + 1), generator=drawn)
    before = functional.one_hot(tokens, benchmark.TOKENS).cumsum(1)[:, :-1]  # b n-1 tokens
    guess = before.argmax(-1)[:, first - 1 :]
    asked = tokens[:, first - benchmark.BACK : last + 1 - benchmark.BACK]
    return (guess == asked).double().mean().item()


def numbers() -> dict[str, str]:
    """Return the numbers that the chapter's sentences use."""
    measured = load(__file__)["kinds"]
    last = example("position/sinusoidal/last")["found"]
    low, high = products("dimensions", APART)
    shares = {
        f"{kind}_{step}": _percent(right(measured, kind, step))
        for kind in benchmark.KINDS
        for step in STEPS
    }
    return shares | {
        **{f"{kind}_beyond": _percent(beyond(measured, kind)) for kind in benchmark.KINDS},
        "guess": _percent(1 / benchmark.TOKENS),
        "bag": _percent(from_the_bag(benchmark.BACK, benchmark.LENGTH - 1)),
        "bag_beyond": _percent(from_the_bag(benchmark.LENGTH, 2 * benchmark.LENGTH - 1)),
        "back": str(benchmark.BACK),
        "length": str(benchmark.LENGTH),
        "product_right": f"{products('right', APART)[0]:.2f}",
        "product_low": f"{low:.2f}",
        "product_high": f"{high:.2f}",
        "small_std": str(benchmark.KINDS["small"].learned),
        "next_best": f"{products('right', 1)[0]:.2f}",
        "transformers": ".".join(metadata.version("transformers").split(".")[:2]),
        "last_gpt2": f"{last['GPT-2'][0]:,}",
        "last_bert": f"{last['BERT'][0]:,}",
        "said_roberta": f"{last['RoBERTa'][0]:,}",
        "last_roberta": f"{last['RoBERTa'][1]:,}",
        "last_opt": f"{last['OPT'][0]:,}",
    }
