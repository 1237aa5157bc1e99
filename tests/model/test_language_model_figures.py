"""The figures of the chapter on the language model draw the shipped model and the measurements."""

import math
import re

import pytest
import torch

from attn_docs.model.language_model import (
    HELD_OUT,
    encode,
    nats_by_kind,
    tell_stories,
    text_of,
    trained_model,
    word_map,
)
from attn_docs.model.weights import describe_weights
from docs._kit.draw import SHADE
from docs._kit.examples import example
from docs._kit.measured import load
from docs._tools.page import page_module
from tests.kit import parse, read_off

benchmark = page_module("model/language-model", "benchmark")
figures = page_module("model/language-model", "figures")
tables = page_module("model/language-model", "tables")

MEASURED = load(str(benchmark.__file__))
STORY = text_of(tell_stories(1, HELD_OUT)[0])
WORDS = ["⏎", *STORY.split()]
languages = pytest.mark.parametrize("language", ["en", "zh"])


def parts(root, kind: str = "data-part") -> dict:
    return {each.get(kind): each for each in root.iter("g") if each.get(kind)}


def shades(group) -> dict[int, float]:
    """Return the opacity of each shaded word, as a share of the fullest."""
    rects = (rect for rect in group.iter("rect") if rect.get("data-word"))
    return {int(each.get("data-word")): float(each.get("fill-opacity")) / SHADE for each in rects}


@languages
def test_shaded_words_are_those_that_the_head_looks_at(language: str) -> None:
    with torch.no_grad():
        _, weights = trained_model()(encode("\n" + STORY[:-1])[None], need_weights=True)
    drawn = parts(parse(figures.FIGURES["looks"](language)))
    assert list(drawn) == ["head-3", "head-2"]
    for name, before in (("head-3", "sticks."), ("head-2", "ben")):
        row = len(WORDS) - 2 - WORDS[::-1].index(before)  # the word before the last such word
        looked = word_map(weights[1][0, int(name[-1]) - 1], STORY)[row]
        found = shades(drawn[name])
        assert set(found) == set((looked >= benchmark.LEAST).nonzero().flatten().tolist())
        for at, shade in found.items():
            assert shade == pytest.approx(looked[at].item(), abs=0.0051 / SHADE)
        label, *words = (text.text for text in drawn[name].iter("text"))
        assert label.endswith(f"{WORDS[int(looked.argmax())]} {looked.max():.2f}")
        assert before in label
        assert words == WORDS


@languages
def test_each_layers_row_is_what_was_measured(language: str) -> None:
    root = parse(figures.FIGURES["bugs"](language))
    drawn = parts(root)
    assert list(drawn) == ["right", *benchmark.BUGS]
    row = WORDS.index("sticks.") - 1
    for name, group in drawn.items():
        wanted = {
            value["column"]: value["value"]
            for value in MEASURED["bugs"].values
            if (value["layer"], value["quantity"], value.get("row")) == (name, "weight", row)
        }
        percents = [text.text for text in group.iter("text")][1:]
        assert percents == [f"{100 * wanted[at]:.0f}" for at in sorted(wanted)]
        for at, shade in shades(group).items():
            assert shade == pytest.approx(min(2 * wanted[at], 1), abs=0.0051 / SHADE)
        assert set(shades(group)) == set(wanted)


@languages
def test_cells_stand_below_their_words_and_the_line_before_what_is_to_come(language: str) -> None:
    root = parse(figures.FIGURES["bugs"](language))
    header = [text for text in root.iter("text") if text.get("transform")]
    assert [text.text for text in header] == WORDS
    places = [float(text.get("x")) for text in header]
    for rect in root.iter("rect"):
        middle = float(rect.get("x")) + float(rect.get("width")) / 2
        assert middle == pytest.approx(places[int(rect.get("data-word"))], abs=0.02)
    (line,) = (path for path in root.iter("path") if path.get("data-part") == "written")
    at = WORDS.index("sticks.")
    assert places[at - 1] < float(re.findall(r"[\d.]+", line.get("d"))[0]) < places[at]


@languages
def test_the_curve_is_that_of_the_training(language: str) -> None:
    curve = describe_weights("language-model")["curve"][1:]
    root = parse(figures.FIGURES["training"](language))
    across, up = read_off(root, "x", log=True), read_off(root, "y", log=True)
    (group,) = (g for g in root.iter("g") if g.get("data-part") == "model")
    path = next(group.iter("path")).get("d")
    found = [tuple(map(float, xy)) for xy in re.findall(r"([\d.-]+) ([\d.-]+)", path)]
    assert len(found) == len(curve)
    for (x, y), at in zip(found, curve, strict=True):
        assert across(x) == pytest.approx(at["step"], rel=0.02)
        assert up(y) == pytest.approx(sum(at["nats"].values()), rel=0.02, abs=0.05)
    levels = {name: sum(tables.judged()[name].values()) for name in figures.LINES}
    drawn = [text.text for text in root.iter("text") if text.text]
    for name, digits in (("1", 0), ("2", 0), ("3", 0), ("floor", 1)):
        assert any(text.endswith(f" {levels[name]:.{digits}f}") for text in drawn)


def test_losses_without_a_head_are_the_models() -> None:
    model = trained_model()
    model.blocks[1].attention.out_proj.weight.data[:, 32:48] = 0
    wanted = nats_by_kind(model, tables.held_out())
    assert tables.removed()[2] == pytest.approx(wanted, abs=1e-4)


def test_what_the_page_says_of_heads_switched_off_is_so() -> None:
    off = tables.removed()
    assert max(range(4), key=lambda head: off[head]["dream"]) == 2
    assert off[2]["dream"] > math.log(12)
    assert min(nats["dream"] for nats in off) > tables.judged()["model"]["dream"] + 0.4


def test_head_3_alone_carries_the_sleeper() -> None:
    found = example("model/language_model/exchange")
    flipped = found["flipped"].flatten().tolist()
    carried = flipped.pop(1 * 4 + 2)
    assert carried > 0.9 * found["stories"]
    assert max(flipped) <= 1


@languages
def test_the_figure_of_heads_off_has_the_tables_numbers(language: str) -> None:
    drawn = parts(parse(figures.FIGURES["off"](language)), "data-kind")
    for kind in tables.KINDS[1:]:
        name, *values = (text.text for text in drawn[kind].iter("text"))
        assert name in tables.texts(str(tables.__file__), "parts", language)["kinds"]
        off = [tables.judged()["model"], *tables.removed()]
        assert values == [f"{nats[kind]:.2f}" for nats in off]


@languages
def test_the_exchange_is_drawn_as_counted(language: str) -> None:
    drawn = parts(parse(figures.FIGURES["exchanged"](language)), "data-block")
    counts = [[int(text.text) for text in group.iter("text")] for group in drawn.values()]
    assert counts == example("model/language_model/exchange")["flipped"].tolist()


@pytest.mark.parametrize("padded", [1, 8])
def test_the_loss_of_the_core_leaves_padding_out(padded: int) -> None:
    core = example("model/language_model/core")
    rows, model = core["rows"][:padded], core["model"]
    tokens = torch.nn.utils.rnn.pad_sequence(rows, batch_first=True, padding_value=-100)
    found = core["next_token_loss"](model(tokens.clamp_min(0)), tokens)
    each = [core["next_token_loss"](model(row[None]), row[None]) * (len(row) - 1) for row in rows]
    assert found.item() == pytest.approx(
        sum(each).item() / sum(len(row) - 1 for row in rows), rel=1e-4
    )
