"""The figures and tables on the softmax show what PyTorch and the package compute."""

import math
from fractions import Fraction
from xml.etree import ElementTree as ET

import pytest
import torch

from attn_docs import OnlineSoftmax
from attn_docs.sentence import MEANINGS, WORDS, embeddings, projections
from docs._tools.page import page_module
from tests.kit import parse, read_off

figures = page_module("kernels/softmax", "figures")
tables = page_module("kernels/softmax", "tables")
languages = pytest.mark.parametrize("language", ["en", "zh"])


def drawn(name: str, language: str) -> ET.Element:
    return parse(figures.FIGURES[name](language))


def cat() -> tuple[torch.Tensor, torch.Tensor]:
    """Return the scores of "cat" against the five words, and their values, in float64."""
    x = embeddings().double()
    w_q, w_k, w_v = (w.double() for w in projections(sharpness=math.log(8)))
    return (x @ w_q @ (x @ w_k).T)[WORDS.index("cat")], x @ w_v


# --- the range of the exponential -------------------------------------------------------------


@pytest.mark.parametrize("dtype", tables.DTYPES, ids=str)
def test_the_edges_are_where_the_exponential_becomes_infinite_and_zero(dtype: torch.dtype) -> None:
    low, high = tables.edge(dtype, upper=False), tables.edge(dtype, upper=True)
    around = torch.tensor([low - 0.01, low + 0.01, high - 0.01, high + 0.01], dtype=torch.float64)
    zero, small, large, infinite = around.exp().to(dtype).tolist()
    assert zero == 0 < small < large < infinite == math.inf
    assert math.log(torch.finfo(dtype).max) == pytest.approx(high, abs=0.01)


@languages
def test_a_bar_spans_the_range_of_its_format(language: str) -> None:
    root = drawn("ranges", language)
    bars = {
        bar.attrib["data-format"]: bar for bar in root.iter("rect") if "data-format" in bar.attrib
    }
    assert list(bars) == ["float16", "bfloat16", "float32"]
    numbers = {
        float(text.text.replace("−", "-")): float(text.attrib["x"])
        for text in root.iter("text")
        if text.text
        and text.text.lstrip("−").isdigit()
        and text.attrib["font-size"] == "12"
        and float(text.attrib["y"]) > 120
    }
    unit = (numbers[50] - numbers[-100]) / 150
    for bar in bars.values():
        left, width = float(bar.attrib["x"]), float(bar.attrib["width"])
        assert (left - numbers[0]) / unit == pytest.approx(float(bar.attrib["data-low"]), abs=0.1)
        assert width / unit == pytest.approx(
            float(bar.attrib["data-high"]) - float(bar.attrib["data-low"]), abs=0.1
        )


# --- the worked example -------------------------------------------------------------------------


def test_the_states_are_those_of_the_online_softmax() -> None:
    scores, values = cat()
    softmax, start = OnlineSoftmax(), 0
    for words, state in zip(figures.BLOCKS, figures.states(), strict=True):
        end = start + len(words)
        assert WORDS[start:end] == words
        softmax.update(scores[None, start:end], values[start:end])
        output = [float(each / state.total) for each in state.mixed]
        assert softmax.result()[0].tolist() == pytest.approx(output, abs=1e-8)
        assert softmax.lse.item() == pytest.approx(state.top + math.log(state.total), abs=1e-8)
        assert state.scores == scores[start:end].tolist()
        start = end


@languages
def test_the_figure_shows_each_state_in_its_column(language: str) -> None:
    found = figures.states()
    groups = {
        group.attrib["data-block"]: {
            cell.attrib["data-row"]: cell.text for cell in group.iter("text")
        }
        for group in drawn("steps", language).iter("g")
        if "data-block" in group.attrib
    }
    assert list(groups) == ["0", "1", "2", "output"]
    for column, state in enumerate(found):
        shown = groups[str(column)]
        assert [Fraction(shown[name]) for name in MEANINGS] == state.mixed
        assert Fraction(shown["total"]) == state.total
        assert shown["top"] == ("ln 8" if state.top else "0")
        assert [Fraction(each) for each in shown["power"].split(", ")] == state.powers
    output = [Fraction(groups["output"][name]) for name in MEANINGS]
    assert output == [Fraction(1, 19), Fraction(1, 19), Fraction(8, 19), Fraction(8, 19)]
    assert groups["1"]["rescale"] == "× 1/8"
    assert groups["2"]["rescale"] == "× 1"


def test_fewer_additions_one_after_another_err_less() -> None:
    found = tables.order_errors()
    assert found["one"][-1] > 4 * found["block"][-1] > 8 * found["pairs"][-1]
    assert found["one"][-1] > 8 * found["one"][0]
    assert max(found["pairs"]) < 1


@languages
def test_the_lines_are_the_errors(language: str) -> None:
    root = drawn("order", language)
    value = read_off(root, "y", log=True)
    for name, errors in tables.order_errors().items():
        (group,) = [g for g in root.iter("g") if g.get("data-part") == name]
        line = next(group.iter("path")).attrib["d"].split()
        heights = [float(y) for y in line[2::3]]
        assert [value(y) for y in heights] == pytest.approx(errors, rel=0.02)


# --- the table of the wrong versions --------------------------------------------------------------


def test_the_right_loop_is_right_for_every_input_of_the_table() -> None:
    value = torch.eye(tables.KEYS)
    for scores in tables.inputs().values():
        softmax = OnlineSoftmax()
        for s, v in zip(scores.split(tables.BLOCK, -1), value.split(tables.BLOCK), strict=True):
            softmax.update(s, v)
        assert tables.verdict(softmax.result(), torch.softmax(scores, -1)) == "right"


def test_each_wrong_version_is_shown_by_some_input_and_hidden_by_another() -> None:
    for found in tables.verdicts().values():
        shown = {found[name] for name in tables.inputs()}
        assert "right" in shown
        assert shown & {"wrong", "nan"}
    assert tables.verdicts()["maximum_from_zero"]["checker"] == "passed"


def test_the_inputs_are_what_their_headings_say() -> None:
    made, half = tables.inputs(), tables.BLOCK
    assert (made["first"].argmax(-1) < half).all()
    assert (made["later"].argmax(-1) >= half).all()
    assert (made["below"] < tables.edge(torch.float32, upper=False)).all()
    assert (made["falls"][:, :half].amin(-1) - made["falls"][:, half:].amax(-1) > 150).all()
    assert made["rows"][0].min() - made["rows"][1].max() > 150
