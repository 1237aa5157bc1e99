"""The figures, tables and the form of the chapter on rescaled frequencies, against the package."""

import itertools
import math
from collections.abc import Callable

import pytest
import torch
from transformers import DeepseekV3Config, Gemma4TextConfig, GptOssConfig, Ministral3Config
from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS
from transformers.models.deepseek_v3 import modeling_deepseek_v3 as deepseek

from attn_docs import rotary_frequencies
from docs._kit.text import texts
from docs._tools.page import page_module
from tests.conftest import ROOT
from tests.forms import served_and_shown
from tests.kit import parse

figures = page_module("position/rotary-scaling", "figures")
tables = page_module("position/rotary-scaling", "tables")

URL = "position/rotary-scaling/"
ASK = """cases => {
    const form = document.querySelector(".scaling-explorer")
    return cases.map(wanted => {
        for (const [name, value] of Object.entries(wanted)) {
            form.elements.namedItem(name).value = value
        }
        form.dispatchEvent(new Event("input"))
        return {
            said: form.querySelector("output").textContent,
            rows: [...form.querySelectorAll("tbody tr")].map(row => [
                [...row.children].map(cell => cell.textContent), !!row.querySelector(".may"),
            ]),
        }
    })
}"""
CASES = [
    dict(zip(tables.CHOICES, map(str, values), strict=True))
    for values in itertools.product(*tables.CHOICES.values())
]


def state_of(case: dict[str, str]) -> object:
    """Return the state of the form with these choices."""
    return tables.State(
        *(case[name] if name == "rule" else int(case[name]) for name in tables.CHOICES)
    )


@pytest.mark.parametrize("prefix", ["", "zh/"], ids=["en", "zh"])
def test_the_explorer_shows_what_the_page_computes(visit: Callable, prefix: str) -> None:
    page = visit(prefix + URL)
    before, after = served_and_shown(page.tab, ".scaling-explorer")
    assert before == after
    cases = CASES[::23] if not prefix else CASES[::311]
    text = texts(tables.__file__, "explorer", "zh" if prefix else "en")
    said, unit = text["said"], text["unit"]
    for case, found in zip(cases, page.tab.evaluate(ASK, cases), strict=True):
        state = state_of(case)
        assert found["rows"] == [list(row) for row in tables.rows(state, unit)], case
        assert found["said"] == said.format(**tables.told(state)), case
    assert page.tab.evaluate("document.scrollingElement.scrollWidth") == 360
    assert not page.complaints
    assert (ROOT / "docs/position/rotary-scaling/explorer.js").stat().st_size < 4000


def test_new_angles_are_those_that_training_did_not_reach() -> None:
    for case in CASES[::101]:
        state = state_of(case)
        rule = tables.rule_of(state)
        plain = rotary_frequencies(state.dim, state.theta, dtype=torch.float64)[0]
        found = rotary_frequencies(state.dim, state.theta, rule, dtype=torch.float64)[0]
        told = tables.unseen(plain, found, state.context, state.length)
        for before, after, new in zip(plain.tolist(), found.tolist(), told.tolist(), strict=True):
            seen, reached = state.context * before, state.length * after
            assert new == (seen < 2 * math.pi and reached > seen * (1 + 1e-9))


def test_the_worked_figure_draws_the_third_pair_of_the_example() -> None:
    wave = 2 * math.pi / rotary_frequencies(8, 10000.0)[0][2].item()
    assert wave == pytest.approx(figures.WAVE, rel=1e-4)
    drawing = parse(figures.angles("en"))
    cases = {g.get("data-case"): g for g in drawing.iter("g") if g.get("data-case")}
    assert set(cases) == {"trained", "plain", "rescaled"}
    seen = figures.TRAINED / wave
    for name, reached in (("plain", 4 * seen), ("rescaled", seen)):
        assert float(cases[name].get("data-seen")) == pytest.approx(seen, abs=0.006)
        assert float(cases[name].get("data-to")) == pytest.approx(reached, abs=0.006)
    assert 1 / 7 < seen < 1 / 6 + 0.01


def test_the_chart_draws_each_pair_of_each_rule() -> None:
    plain = rotary_frequencies(128, 500000.0, dtype=torch.float64)[0]
    for name, rule in tables.RULES.items():
        if name == "plain":
            continue
        waves, slower = figures.slower(name)
        found = rotary_frequencies(128, 500000.0, rule, dtype=torch.float64)[0]
        assert len(waves) == int((found > 0).sum())
        for i, (wave, times) in enumerate(zip(waves, slower, strict=True)):
            assert wave * plain[i].item() == pytest.approx(2 * math.pi)
            assert times * found[i].item() == pytest.approx(plain[i].item())
    drawn = {part.get("data-part") for part in parse(figures.wavelengths("en")).iter()}
    assert {name for name in tables.RULES if name != "plain"} <= drawn


def test_the_factors_are_those_of_transformers_layers() -> None:
    rope = {"rope_type": "yarn", "rope_theta": 10000.0, "factor": tables.DEEPSEEK}
    rope |= {"original_max_position_embeddings": 4096, "beta_fast": 32, "beta_slow": 1}
    cases = tables.cases()
    for name, more in (("paper", {}), ("deepseek", {"mscale": 1.0, "mscale_all_dim": 1.0})):
        config = DeepseekV3Config(rope_parameters=rope | more, max_position_embeddings=163840)
        assert ROPE_INIT_FUNCTIONS["yarn"](config)[1] == pytest.approx(cases[name][1])
        scale = deepseek.yarn_apply_mscale(config.rope_parameters, 1.0)
        assert scale == pytest.approx(cases[name][2])
    ministral = Ministral3Config()
    assert ministral.rope_parameters["factor"] == tables.MINISTRAL
    assert ROPE_INIT_FUNCTIONS["yarn"](ministral)[1] == cases["ministral"][1] == 1.0


def test_models_have_the_rules_that_the_page_says() -> None:
    oss = GptOssConfig().rope_parameters
    assert (oss["rope_type"], oss["truncate"]) == ("yarn", False)
    full = Gemma4TextConfig().rope_parameters["full_attention"]
    assert (full["rope_type"], full["partial_rotary_factor"]) == ("proportional", tables.SHARE)
    numbers = tables.numbers()
    kept, between, divided = (int(numbers[name]) for name in ("kept", "between", "divided"))
    assert kept + between + divided == 64
    assert int(numbers["other"]) == between + divided
    assert int(numbers["new_ntk"]) == int(numbers["new_plain"]) - 1
