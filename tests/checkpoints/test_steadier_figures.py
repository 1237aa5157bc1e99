"""The figures, tables and numbers of the chapter show what was measured and what is computed."""

import math
import re
from fractions import Fraction

import pytest
import torch

from attn_docs import sink_attention
from attn_docs.sentence import embeddings, projections
from docs._kit.measured import load
from docs._tools.page import page_module
from tests.kit import parse

figures = page_module("checkpoints/steadier", "figures")
tables = page_module("checkpoints/steadier", "tables")
benchmark = page_module("checkpoints/steadier", "benchmark")
languages = pytest.mark.parametrize("language", ["en", "zh"])
GROWTH = load(tables.__file__)["growth"]


@languages
def test_boxes_are_as_wide_as_the_powers_and_what_is_kept_is_what_sinks_leave(
    language: str,
) -> None:
    root = parse(figures.sink(language))
    boxes = [rect for rect in root.iter("rect") if rect.get("data-exp")]
    assert all(float(r.get("width")) == 24 * int(r.get("data-exp")) for r in boxes)
    exps = [int(rect.get("data-exp")) for rect in boxes]
    assert exps == [1, 8, 1, 1, 1, 4, 1, 1, 4]
    x = embeddings().double()
    w_q, w_k, _ = (w.double() for w in projections(sharpness=math.log(8)))
    for first, shown in ((0, exps[:6]), (3, exps[6:])):
        q, k = ((x[at] @ w)[None, None] for at, w in ((slice(3, 4), w_q), (slice(first, 5), w_k)))
        ones, sinks = torch.ones_like(k[..., :1]), torch.tensor([math.log(4)]).double()
        kept = sink_attention(q, k, ones, sinks=sinks, scale=1.0).item()
        assert Fraction(kept).limit_denominator(100) == Fraction(sum(shown[:-1]), sum(shown))


@languages
def test_a_curve_for_each_way_and_seed(language: str) -> None:
    parts = {g.get("data-part") for g in parse(figures.growth(language)).iter("g")}
    drawn = {f"score-{way}-{seed}" for way in benchmark.WAYS for seed in benchmark.SEEDS}
    assert drawn | {part.replace("score", "loss") for part in drawn} <= parts


@languages
def test_the_cap_is_drawn_as_the_formula(language: str) -> None:
    parts = {g.get("data-part"): g for g in parse(figures.cap(language)).iter("g")}
    numbers = re.findall(r"[ML] ([\d.]+) ([\d.]+)", next(parts["capped"].iter("path")).get("d"))
    points = [(float(x), float(y)) for x, y in numbers]
    for x, y in points:
        score, capped = (x - 46) / 340 * 200, (126 - y) / 100 * 60
        assert abs(capped - 50 * math.tanh(score / 50)) < 0.05


def test_the_sentences_about_growing_scores_are_what_was_measured() -> None:
    def all_of(quantity: str, way: str, rate: float = benchmark.DRAWN) -> list[float]:
        return tables.of_seeds(GROWTH, quantity, way=way, rate=str(rate))

    fails = {w: sum(a < 0.5 for a in all_of("accuracy", w)) for w in benchmark.WAYS}
    assert fails == {"plain": 2, "norm": 0, "cap": 2}
    for way in ("plain", "cap"):
        assert sum(score > 800 for score in all_of("largest", way)) == 2
    assert max(all_of("largest", "norm")) < 20
    assert min(all_of("accuracy", "norm", benchmark.RATES[-1])) < 0.5  # a norm has its limit
    assert max(all_of("accuracy", "plain", benchmark.RATES[-1])) < 0.5
    ends = [figures.watched("score", "plain", seed)[1][-1] for seed in benchmark.SEEDS]
    assert sum(end > 700 for end in ends) == 2  # and they stay there
    for seed in (1, 2):  # the loss falls for some thirty steps, then is nearly that of guessing
        _, loss = figures.watched("loss", "plain", seed)
        assert loss.index(min(loss[:10])) in {2, 3}
        assert min(loss[5:]) > math.log(32) - 0.3
    for way in benchmark.LOWER:  # a lower cap is no better
        assert max(all_of("accuracy", way)) < 0.5
    assert min(all_of("accuracy", "slow")) > 0.9  # with a low rate for queries and keys alone
    assert max(all_of("largest", "slow")) < 25
    assert max(all_of("lead", "norm", benchmark.RATES[-1])) < 25  # where one norm fails


def test_a_query_that_is_told_lowers_all_its_scores_below_the_sink() -> None:
    found = load(tables.__file__)["repairs"]
    assert max(tables.at_told(found, "kept nothing")) < 0.0015
    assert min(tables.at_told(found, "kept something")) > 0.85


def test_the_sentences_about_nothing_to_find_are_what_was_measured() -> None:
    found = load(tables.__file__)["repairs"]

    def mean(task: str, way: str, quantity: str = "nothing") -> float:
        return sum(tables.of_seeds(found, quantity, task=task, way=way)) / 3

    assert mean("told", "gate") < 0.01
    assert mean("told", "plain") > 0.1
    assert abs(mean("absent", "gate") - mean("absent", "plain")) < 0.002
    for task in benchmark.TASKS:
        for way in ("sink", "first"):
            assert mean(task, way) < 0.01
    assert mean("told", "plain") > mean("absent", "plain")


@pytest.mark.parametrize("task", benchmark.TASKS)
def test_the_task_is_what_the_page_says(task: str) -> None:
    query, context, answer = benchmark.asked(500, torch.Generator().manual_seed(0), task)
    names = context[..., : benchmark.NAMES]
    values = context[..., benchmark.NAMES : benchmark.NAMES + benchmark.SIZE]
    matches = torch.einsum("bqa,bka->bk", query[..., : benchmark.NAMES], names)
    assert (names.sum(1) <= 1).all()  # no two keys have one name
    nothing = (answer == 0).all(-1)
    assert 0.4 < nothing.float().mean() < 0.6
    wanted = (matches[..., None] * values).sum(1)
    assert torch.equal(answer[~nothing], wanted[~nothing])
    flag = query[:, 0, benchmark.NAMES + benchmark.SIZE]
    if task == "told":
        assert (matches.sum(-1) == 1).all()
        assert torch.equal(flag == 0, nothing)
    else:
        assert torch.equal(matches.sum(-1) == 0, nothing)
        assert (flag == 0).all()


def test_models_have_what_their_code_says() -> None:
    assert tables.has("Gemma 2") | {"scale": ""} == {
        "scale": "", "norm": "no", "cap": "yes", "sink": "no", "gate": "no", "differential": "no",
    }  # fmt: skip
    assert tables.has("OLMo 2")["norm"] == "across"
    assert tables.has("Llama 4")["norm"] == "bare"
    assert not any("norm" in name for name in tables.layer_of("Llama 4")[0].state_dict())
    assert tables.has("Gemma 4")["norm"] == "head"
    assert tables.layer_of("Gemma 4")[0].scaling == 1.0
