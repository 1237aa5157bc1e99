"""What the rules make of a head's wavelengths, in numbers, and the form that compares them."""

import math
from collections.abc import Callable
from importlib.metadata import version
from typing import NamedTuple

import torch
from torch import Tensor

from attn_docs import (
    LinearScaling,
    Llama3Scaling,
    NTKScaling,
    ProportionalScaling,
    YaRNScaling,
    rotary_frequencies,
)
from attn_docs.position._frequencies import RotaryScaling
from docs._kit.form import fill
from docs._kit.markdown import table
from docs._kit.text import texts

# Llama 3.1 8B: size of a head, base, length of training, factor, longest text
DIM, THETA, ORIGINAL, FACTOR, LONGEST = 128, 500_000.0, 8192, 8.0, 131_072
SHARE = 0.25  # of Gemma 4's global layers
RULES: dict[str, RotaryScaling | None] = {
    "plain": None,
    "linear": LinearScaling(FACTOR),
    "ntk": NTKScaling(FACTOR),
    "yarn": YaRNScaling(FACTOR, ORIGINAL),
    "llama3": Llama3Scaling(FACTOR, ORIGINAL),
    "proportional": ProportionalScaling(SHARE),
}
SHOWN = (0, 16, 24, 32, 40, 48)  # of the explorer, for a head of DIM; and the last pair
CHOICES = {
    "dim": (64, 128, 256),
    "context": (2048, 4096, 8192, 16384, 32768, 131_072),
    "theta": (10_000, 150_000, 500_000, 1_000_000, 5_000_000),
    "rule": ("plain", "linear", "ntk", "yarn", "llama3"),
    "factor": (1, 2, 4, 8, 16, 32, 40),
    "length": (8192, 16384, 32768, 65536, 131_072, 262_144, 1_048_576),
}
# YaRN as the paper has it, DeepSeek-V3, Ministral 3 in transformers, and two mistakes:
# factor, factor on cosine and sine, factor on the scale of all scores
DEEPSEEK, MINISTRAL = 40.0, 16.0


class State(NamedTuple):
    """What the explorer shows."""

    dim: int
    context: int
    theta: float
    rule: str
    factor: float
    length: int

    def frequencies(self) -> tuple[Tensor, Tensor]:
        """Return a head's frequencies, without the rule and with it."""
        return (
            frequencies(self.theta, None, self.dim),
            frequencies(self.theta, rule_of(self), self.dim),
        )


FIRST = State(DIM, 8192, 500_000, "plain", 8, 65536)


def rule_of(state: State) -> RotaryScaling | None:
    """Return the rule with its factor."""
    made: dict[str, Callable[[], RotaryScaling | None]] = {
        "plain": lambda: None,
        "linear": lambda: LinearScaling(state.factor),
        "ntk": lambda: NTKScaling(state.factor),
        "yarn": lambda: YaRNScaling(state.factor, state.context),
        "llama3": lambda: Llama3Scaling(state.factor, state.context),
    }
    return made[state.rule]()


def frequencies(theta: float, rule: RotaryScaling | None, dim: int = DIM) -> Tensor:
    """Return a head's frequencies in float64."""
    return rotary_frequencies(dim, theta, rule, dtype=torch.float64)[0]


def number(value: float, unit: list[str]) -> str:
    """Return a number as the page writes it: from a million on in the language's unit."""
    if value >= 1e6:
        name, size, digits = unit
        return f"{value / int(size):,.{digits}f} {name}"
    return f"{value:,.0f}" if value >= 100 else f"{value:.2f}"


def kinds(plain: Tensor, found: Tensor, factor: float) -> tuple[int, int, int]:
    """Return how many pairs are kept, how many lie between, how many are divided by the factor."""
    slower = plain / found
    kept = int((slower < 1 + 1e-9).sum())
    divided = int((slower > factor * (1 - 1e-9)).sum()) if factor > 1 else 0
    return kept, len(plain) - kept - divided, divided


def unseen(plain: Tensor, found: Tensor, context: int, length: float) -> Tensor:
    """Return which pairs reach angles, in a text of this length, that training did not show."""
    partly = context * plain < 2 * math.pi  # no full turn within the trained length
    return partly & (length * found > context * plain * (1 + 1e-9))


def rows(state: State, unit: list[str]) -> list[tuple[list[str], bool]]:
    """Return the explorer's rows: pair, wavelengths, turns; and whether it meets new angles."""
    plain, found = state.frequencies()
    new = unseen(plain, found, state.context, state.length)
    made = []
    for pair in (*(pair * state.dim // DIM for pair in SHOWN), state.dim // 2 - 1):
        before, after = (2 * math.pi / each[pair].item() for each in (plain, found))
        shown = (before, after, state.context / before, state.length / after)
        made.append(([str(pair), *(number(x, unit) for x in shown)], bool(new[pair])))
    return made


def told(state: State) -> dict[str, str]:
    """Return the numbers of the explorer's sentence."""
    plain, found = state.frequencies()
    kept, between, divided = kinds(plain, found, state.factor)
    new = int(unseen(plain, found, state.context, state.length).sum())
    return {
        "pairs": str(len(plain)),
        "kept": str(kept),
        "between": str(between),
        "divided": str(divided),
        "factor": f"{state.factor:.0f}",
        "length": f"{state.length:,}",
        "context": f"{state.context:,}",
        "new": str(new),
        "degrees": f"{math.degrees(found[0].item()):.2f}",
    }


def explorer(language: str) -> str:
    """Return the form that compares rules, with what it shows at first."""
    text = texts(__file__, "explorer", language)
    said, named = text.pop("said"), texts(__file__, "rules", language)
    choices = {
        name: [
            (value, named.get(str(value)) or f"{value:,}", value == getattr(FIRST, name))
            for value in values
        ]
        for name, values in CHOICES.items()
    }
    return fill(
        __file__,
        **text,
        said=said,
        choices=choices,
        rows=rows(FIRST, text["unit"]),
        told=said.format(**told(FIRST)),
    )


def sharper(factor: float) -> float:
    """Return YaRN's factor on cosine and sine."""
    return YaRNScaling(factor, 4096).attention


def ratio(factor: float) -> float:
    """Return it with both mscales 1."""
    return YaRNScaling(factor, 4096, mscale=1.0, mscale_all_dim=1.0).attention


def cases() -> dict[str, tuple[float, float, float]]:
    """Return for each case: factor s, that on cosine and sine, that on the scale of all scores."""
    return {
        "paper": (DEEPSEEK, sharper(DEEPSEEK), 1.0),
        "deepseek": (DEEPSEEK, ratio(DEEPSEEK), sharper(DEEPSEEK) ** 2),
        "half": (DEEPSEEK, ratio(DEEPSEEK), 1.0),
        "twice": (DEEPSEEK, sharper(DEEPSEEK), sharper(DEEPSEEK) ** 2),
        "ministral": (MINISTRAL, ratio(MINISTRAL), 1.0),
        "ignored": (MINISTRAL, sharper(MINISTRAL), 1.0),
    }


def factor(language: str) -> str:
    """Return what becomes of rotated and other parts of a score in each case."""
    text = texts(__file__, "factor", language)
    made = [
        (text[name], f"{s:.0f}", f"{t:.4f}", f"{scale:.4f}", f"{t * t * scale:.4f}", f"{scale:.4f}")
        for name, (s, t, scale) in cases().items()
    ]
    return f"{table(text['header'], made)}\n\n{text['caption']}"


TABLES: dict[str, Callable[[str], str]] = {
    "explorer": explorer,
    "factor": factor,
}


def numbers() -> dict[str, str]:
    """Return the numbers that the chapter's sentences use."""
    plain = frequencies(THETA, None)
    made = {name: frequencies(THETA, rule) for name, rule in RULES.items() if rule is not None}
    kept, between, divided = kinds(plain, made["llama3"], FACTOR)
    yarn = kinds(plain, made["yarn"], FACTOR)
    qwen = YaRNScaling(4.0, 32768)  # as Qwen3's documentation switches it on
    wrong = frequencies(THETA, Llama3Scaling(FACTOR, LONGEST))  # the other length of config.json
    return {
        "between": str(between),
        "base_ntk": f"{THETA * FACTOR ** (DIM / (DIM - 2)):,.0f}",
        "degrees_linear": f"{math.degrees(made['linear'][0].item()):.1f}",
        "degrees_linear_4": f"{math.degrees(1) / 4:.1f}",
        "degrees_plain": f"{math.degrees(1):.1f}",
        "divided": str(divided),
        "kept": str(kept),
        "length": f"{LONGEST:,}",
        "new_ntk": str(int(unseen(plain, made["ntk"], ORIGINAL, FACTOR * ORIGINAL).sum())),
        "new_plain": str(int(unseen(plain, plain, ORIGINAL, FACTOR * ORIGINAL).sum())),
        "original": f"{ORIGINAL:,}",
        "other": str(between + divided),
        "other_length": str(int((made["llama3"] != wrong).sum())),
        "other_qwen": str(int((frequencies(1e6, qwen) != frequencies(1e6, None)).sum())),
        "scale": f"{sharper(DEEPSEEK) ** 2:.4f}",
        "qwen_half": f"{2 * 32768:,}",
        "qwen_longest": f"{4 * 32768:,}",
        "qwen_trained": f"{32768:,}",
        "scores_qwen": f"{qwen.attention**2:.2f}",
        "scores_ministral": f"{sharper(MINISTRAL) ** 2:.2f}",
        "theta": f"{THETA:,.0f}",
        "transformers": ".".join(version("transformers").split(".")[:2]),
        "yarn_between": str(yarn[1]),
        "yarn_divided": str(yarn[2]),
        "yarn_kept": str(yarn[0]),
    }
