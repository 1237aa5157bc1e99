"""What each kind of position does beyond its training length, as measured, and the numbers."""

import itertools
import statistics
from collections.abc import Callable, Iterable
from functools import cache
from types import SimpleNamespace
from typing import TYPE_CHECKING, cast

import torch

from attn_docs import LinearScaling, YaRNScaling, apply_rotary
from attn_docs.model.induction import load_model
from attn_docs.position._frequencies import RotaryScaling
from attn_docs.position.extrapolation import KINDS, STEPS, TRAINED, build_model, diluted
from docs._kit.examples import example
from docs._kit.markdown import table
from docs._kit.measured import Measurement, load
from docs._kit.text import Words, texts

from .benchmark import (
    LONG_STEPS,
    LONGEST,
    PLACES,
    RULES,
    SEEDS,
    SEQUENCES,
)

if TYPE_CHECKING:
    from attn_docs import MultiHeadAttention, RotaryEmbedding
    from attn_docs.model import Block

LEAST_RANGE = 0.02  # smaller differences between seeds are not shown
SCALED: dict[str, RotaryScaling | None] = {
    "plain": None,
    "linear": LinearScaling(LONGEST / TRAINED),
    "yarn": YaRNScaling(LONGEST / TRAINED, TRAINED),
}
WITHIN = 0.95  # the weight that a head of the worked example gives at the training length


def of_seeds(found: Measurement, quantity: str = "accuracy", **of: str | int) -> list[float]:
    """Return what was measured with each seed."""
    return [found(quantity, seed=seed, **of) for seed in SEEDS]


def mean(found: Measurement, quantity: str = "accuracy", **of: str | int) -> float:
    """Return the mean of the seeds."""
    return statistics.mean(of_seeds(found, quantity, **of))


def cell(values: Iterable[float], text: Words) -> str:
    """Return the mean of some values, with the least and the greatest where they differ."""
    values = list(values)
    least, most, middle = min(values), max(values), statistics.mean(values)
    if most - least < LEAST_RANGE:
        return f"{middle:.2f}"
    told: str = text["range"].format(mean=middle, least=least, most=most)
    return told


def kinds(language: str) -> str:
    """Return the accuracy of each kind of position at some lengths."""
    text, found = texts(__file__, "kinds", language), load(__file__)["kinds"]
    names = texts(__file__, "kind", language)
    asked = [("near", TRAINED), ("near", 64), *((place, LONGEST) for place in PLACES)]
    rows = [
        (
            names[kind],
            *(cell(of_seeds(found, kind=kind, place=p, length=n), text) for p, n in asked),
        )
        for kind in KINDS
    ]
    steps = {"steps": f"{STEPS:,}", "long": f"{LONG_STEPS['none']:,}", "sequences": SEQUENCES}
    others = of_seeds(load(__file__)["others"], kind="rotary", place="near")
    spread = {"least": min(others), "most": max(others)}
    caption = found.caption(text["caption"].format(**steps, **spread), language)
    return f"{table(text['header'], rows)}\n\n{caption}"


def changes(language: str) -> str:
    """Return the accuracy at the longest length with a window and with sharper scores."""
    text, stored = texts(__file__, "changes", language), load(__file__)
    names, changed = texts(__file__, "kind", language), stored["changes"]
    rows = []
    for kind in KINDS:
        of = {"kind": kind, "length": LONGEST, "place": "near"}
        row = [mean(stored["kinds"], **of)]
        row += [mean(changed, change=change, **of) for change in ("window", "sharper")]
        rows.append((names[kind], *(f"{value:.2f}" for value in row)))
    return f"{table(text['header'], rows)}\n\n{changed.caption(text['caption'], language)}"


def rules(language: str) -> str:
    """Return the accuracy of the rotary models under each rule."""
    text, stored = texts(__file__, "rules", language), load(__file__)
    names, brackets = texts(__file__, "rule", language), texts(__file__, "kinds", language)
    asked = [("near", 64), *((place, LONGEST) for place in PLACES)]
    rows = []
    for rule in ("plain", *RULES):
        of = {"kind": "rotary"} if rule == "plain" else {"rule": rule}
        found = stored["kinds" if rule == "plain" else "rules"]
        values = (of_seeds(found, place=p, length=n, **of) for p, n in asked)
        rows.append((names[rule], *(cell(value, brackets) for value in values)))
    return f"{table(text['header'], rows)}\n\n{stored['rules'].caption(text['caption'], language)}"


TABLES: dict[str, Callable[[str], str]] = {
    "kinds": kinds,
    "changes": changes,
    "rules": rules,
}


def lead_of(weight: float, keys: int) -> float:
    """Return the lead that gives a key this weight among so many."""
    low, high = 0.0, 40.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if diluted(middle, keys) < weight else (low, middle)
    return high


def of_kinds() -> dict[str, str]:
    """Return what each kind of position reached, and where its head looked."""
    stored, told = load(__file__), {}
    found, changed = stored["kinds"], stored["changes"]
    added = ("learned", "sinusoidal")
    asked = [(kind, "near", length) for kind in added for length in (TRAINED, 64)]
    asked += [("rotary", "near", 64), ("alibi", "near", LONGEST), ("alibi", "start", LONGEST)]
    asked += [(kind, place, LONGEST) for kind in ("none", "t5") for place in ("near", "start")]
    for kind, place, length in asked:
        value = mean(found, kind=kind, place=place, length=length)
        told[f"{kind}_{place}_{length}"] = f"{value:.2f}"
    looked = (
        ("t5", "previous", TRAINED),
        ("t5", "previous", LONGEST),
    )
    for kind, quantity, length in looked:
        told[f"{kind}_{quantity}_{length}"] = (
            f"{mean(found, quantity, kind=kind, length=length):.2f}"
        )
    for kind, change in (("t5", "window"), ("t5", "sharper"), ("alibi", "sharper")):
        value = mean(changed, kind=kind, change=change, length=LONGEST, place="near")
        told[f"{kind}_{change}"] = f"{value:.2f}"
    return told


def of_rotary() -> dict[str, str]:
    """Return what models reached under rules, with a change in one layer, and trained further."""
    stored, told = load(__file__), {}
    for rule, place in (*(("yarn", place) for place in PLACES), ("yarn_blunt", "near")):
        value = mean(stored["rules"], rule=rule, place=place, length=LONGEST)
        told[f"{rule}_{place}"] = f"{value:.2f}"
    names = {
        "layer1": "frequencies in layer 1",
        "layer2": "frequencies in layer 2",
        "capped": "capped",
    }
    for (name, change), place in itertools.product(names.items(), ("near", "start")):
        value = mean(stored["layers"], change=change, place=place, length=LONGEST)
        told[f"{name}_{place}"] = f"{value:.2f}"
    for place in PLACES:
        value = stored["control"]("accuracy", way="lengthened", place=place)
        told[f"lengthened_{place}"] = f"{value:.2f}"
    return told


@cache
@torch.no_grad()
def score_curves() -> dict[str, list[float]]:
    """Return the mean score of the shipped model's layer 1 at each distance, under each rule.

    The mean over all pairs of symbols, so what remains is the distance alone.
    """
    model = load_model()
    block = cast("Block", model.blocks[0])
    attention = cast("MultiHeadAttention", block.attention)
    x = block.attention_norm(model.token_embedding.weight)  # vocab embed_dim
    query, key = attention.q_proj(x).mean(0), attention.k_proj(x).mean(0)  # d, one head
    places = torch.arange(LONGEST)
    found = {}
    for name, rule in SCALED.items():
        keys = apply_rotary(key.expand(1, 1, LONGEST, -1), LONGEST - 1 - places, scaling=rule)
        last = apply_rotary(query.view(1, 1, 1, -1), places[-1:], scaling=rule)
        scores = (last @ keys.mT)[0, 0, 0] / len(key) ** 0.5  # by distance
        found[name] = scores.tolist()
    return found


@torch.no_grad()
def of_shipped() -> dict[str, str]:
    """Return where layer 1 of the shipped model looks at 256 tokens."""
    model, texts = load_model(), example("position/extrapolation/core")["texts"][:, :LONGEST]
    weights = model(texts, need_weights=True)[1][0][:, 0, -8:]  # b 8 m
    weights = weights.mean(0)
    accuracy = example("position/extrapolation/core")["accuracy"]
    eight = accuracy(2 * TRAINED, YaRNScaling(LONGEST / TRAINED, TRAINED))
    one_turn = YaRNScaling(LONGEST / TRAINED, TRAINED, beta_fast=1.01, beta_slow=1.0)
    rows = range(LONGEST - 8, LONGEST)
    at = {
        d: statistics.mean(weights[i, row - d].item() for i, row in enumerate(rows))
        for d in (1, 77)
    }
    without = [  # of distance 1, if distance 77 were hidden: the others share what it had
        weights[i, row - 1].item() / (1 - weights[i, row - 77].item()) for i, row in enumerate(rows)
    ]
    far = statistics.mean(
        weights[i, : row - TRAINED + 1].sum().item() for i, row in enumerate(rows)
    )
    return {
        "weight_1": f"{at[1]:.2f}",
        "without_77": f"{statistics.mean(without):.2f}",
        "weight_77": f"{at[77]:.2f}",
        "weight_far": f"{far:.2f}",
        "eight_at_64": f"{eight:.2f}",
        "one_turn": f"{accuracy(LONGEST, one_turn):.2f}",
        "whole_ramp": f"{accuracy(LONGEST, YaRNScaling(LONGEST / TRAINED, TRAINED)):.2f}",
    }


@torch.no_grad()
def of_copied() -> dict[str, str]:
    """Return what the shipped model copies from two depths, with windows in its layers."""
    yours, ours = example("position/extrapolation/yours"), load_model()
    layers = [cast("MultiHeadAttention", cast("Block", b).attention) for b in ours.blocks]

    def model(texts: torch.Tensor, logits_to_keep: int, **_: object) -> SimpleNamespace:
        return SimpleNamespace(logits=ours(texts)[:, -logits_to_keep:])

    def copied(depth: float, rule: RotaryScaling | None, windows: tuple[int | None, ...]) -> str:
        for layer, window in zip(layers, windows, strict=True):
            cast("RotaryEmbedding", layer.rotary).scaling = rule
            layer.window = window
        with torch.random.fork_rng():
            torch.manual_seed(0)
            return str(yours["copied"](model, yours["texts"][:, :LONGEST], depth))

    yarn = SCALED["yarn"]
    return {
        "copied_window": copied(0.75, yarn, (TRAINED, None)),
        "copied_near": copied(1.0, yarn, (TRAINED, None)),
        "copied_windows": copied(1.0, None, (TRAINED, TRAINED)),
    }


def numbers() -> dict[str, str]:
    """Return the numbers that the page's sentences name."""
    lead = lead_of(WITHIN, TRAINED)
    wrong, bug = (
        example("position/extrapolation/caught"),
        example("position/extrapolation/exercise_bug"),
    )
    alone = {n: bug["accuracy"](bug["model"], n, factor=1.0) for n in (16, TRAINED)}
    parameters = sum(p.numel() for p in build_model("rotary").parameters())
    return {
        **of_kinds(),
        **of_rotary(),
        **of_shipped(),
        **of_copied(),
        "parameters": f"{parameters:,}",
        "within": f"{WITHIN:.2f}",
        "lead": f"{lead:.1f}",
        "diluted": f"{diluted(lead, LONGEST):.2f}",
        "sharpened": f"{diluted(lead, LONGEST, trained=TRAINED):.2f}",
        "mean_128": f"{wrong['mean']:.2f}",
        "last_128": f"{wrong['right'][:, -8:].double().mean().item():.2f}",
        **{f"alone_{n}": f"{value:.2f}" for n, value in alone.items()},
        "pull_flat": f"{251 / 256:.1f}",
        "pull_second": f"{251 / 64:.1f}",
        "steps": f"{STEPS:,}",
        "long_steps": f"{LONG_STEPS['none']:,}",
    }
