"""Figures and tables of the chapter on lengths beyond training, compared with what was stored."""

import itertools
import math
import statistics

import pytest
import torch

from attn_docs import YaRNScaling, apply_rotary
from attn_docs.model.induction import load_model
from attn_docs.position.extrapolation import KINDS
from docs._kit import measured
from docs._kit.examples import example
from docs._tools.page import page_module
from tests.kit import parse

figures = page_module("position/extrapolation", "figures")
tables = page_module("position/extrapolation", "tables")
bench = page_module("position/extrapolation", "benchmark")
STORED = measured.load(bench.__file__)


@pytest.mark.parametrize("language", ["en", "zh"])
def test_every_row_goes_from_the_mean_at_32_to_the_mean_at_256(language: str) -> None:
    root = parse(figures.reach(language))
    parts = {g.get("data-part"): g for g in root.iter("g") if g.get("data-part")}
    assert set(figures.ROWS) == {*KINDS, "yarn"}
    rows = {f"{place}-{kind}" for place in bench.PLACES for kind in figures.ROWS}
    assert set(parts) == rows | {f"{row}-64" for row in rows}
    for (number, place), kind in itertools.product(enumerate(bench.PLACES), figures.ROWS):
        ends, middle = (
            [float(x) for x in path.get("d").replace("L", " ").replace("M", " ").split()][::2]
            for end in ("", "-64")
            for path in parts[f"{place}-{kind}{end}"].iter("path")
        )
        found, of = ("rules", {"rule": kind}) if kind == "yarn" else ("kinds", {"kind": kind})
        left = figures.PANEL_LEFT + figures.PANEL_PITCH * number
        for drawn, length in zip((ends[0], middle[0], ends[1]), (32, 64, 256), strict=True):
            wanted = statistics.mean(
                STORED[found]("accuracy", seed=s, place=place, length=length, **of)
                for s in bench.SEEDS
            )
            assert (drawn - left) / figures.PANEL_WIDE == pytest.approx(wanted, abs=0.005)
        assert f"{wanted:.2f}" in root.find("desc").text


@torch.no_grad()
def test_the_scores_are_those_of_all_pairs_of_symbols() -> None:
    model = load_model()
    block, places = model.blocks[0], torch.arange(256)
    x = block.attention_norm(model.token_embedding.weight)
    for name, rule in tables.SCALED.items():
        query = apply_rotary(
            block.attention.q_proj(x)[:, None, None], torch.tensor([255]), scaling=rule
        )
        keys = block.attention.k_proj(x)[:, None, None].expand(-1, 1, 256, -1)
        keys = apply_rotary(keys, 255 - places, scaling=rule)
        scores = torch.einsum("aijd,bind->abn", query, keys) / math.sqrt(64)
        wanted = scores.mean((0, 1))
        found = torch.tensor(tables.score_curves()[name])
        assert (found - wanted).abs().max() < 1e-3
    tops = {name: max(range(256), key=of.__getitem__) for name, of in tables.score_curves().items()}
    assert tops == {"plain": 77, "linear": 10, "yarn": 1}


def test_a_cell_shows_the_range_where_seeds_differ() -> None:
    text = {"range": "{mean:.2f} ({least:.2f}\u2013{most:.2f})"}
    assert tables.cell([0.5, 0.51, 0.515], text) == "0.51"
    assert tables.cell([0.2, 0.5, 0.8], text) == "0.50 (0.20\u20130.80)"


def test_the_lead_is_the_one_that_gives_the_weight() -> None:
    for keys in (32, 256):
        assert tables.lead_of(0.95, keys) == pytest.approx(math.log(0.95 / 0.05 * (keys - 1)))


def test_what_the_page_says_of_the_measurements_holds() -> None:
    """The sentences that name an order, not a number."""
    found = {
        (kind, place, n): tables.mean(STORED["kinds"], kind=kind, place=place, length=n)
        for kind in KINDS
        for place in bench.PLACES
        for n in bench.LENGTHS
    }
    for kind in KINDS:  # no kind keeps both tests
        assert min(found[kind, "near", 256], found[kind, "start", 256]) < 0.8
    # the last sentences on NoPE: better than rotary, but not the best
    for place in ("near", "start"):
        assert found["none", place, 256] > found["rotary", place, 256]
    assert found["none", "near", 256] < min(found[kind, "near", 256] for kind in ("alibi", "t5"))
    for place in bench.PLACES:  # two repairs keep all three tests
        yarn = tables.mean(STORED["rules"], rule="yarn", place=place, length=256)
        capped = tables.mean(STORED["layers"], change="capped", place=place, length=256)
        assert min(yarn, capped) > 0.95
    for kind in ("learned", "sinusoidal"):
        assert found[kind, "near", 40] < 0.5
        assert found[kind, "start", 256] > 0.9
    for n in bench.LENGTHS[1:]:  # linear is worse than no rule in near at every length
        linear = tables.mean(STORED["rules"], rule="linear", place="near", length=n)
        assert linear < found["rotary", "near", n]
    layers = {
        (change, place): tables.mean(STORED["layers"], change=change, place=place, length=256)
        for change in ("frequencies in layer 1", "frequencies in layer 2")
        for place in bench.PLACES
    }
    both = tables.mean(STORED["rules"], rule="yarn_blunt", place="near", length=256)
    one, two = "frequencies in layer 1", "frequencies in layer 2"
    assert layers[one, "near"] > both - 0.1  # the same cause, in one layer and the other
    assert layers[one, "start"] < found["rotary", "start", 256] + 0.1
    assert layers[two, "start"] > 0.95
    assert layers[two, "near"] < 0.5
    for change in ("window", "sharper"):  # both win back most of what NoPE lost
        of = {"kind": "none", "change": change, "place": "near", "length": 256}
        won = tables.mean(STORED["changes"], **of) - found["none", "near", 256]
        assert won > 0.5 * (found["none", "near", 32] - found["none", "near", 256])
    for n in bench.LENGTHS[1:]:  # these three lose nothing with YaRN, the shipped model does
        yarn = tables.mean(STORED["rules"], rule="yarn", place="near", length=n)
        assert yarn > found["rotary", "near", n] - 1e-3


def test_what_the_page_says_of_the_shipped_model_holds() -> None:
    """Factor 2 alone is bad at twice the length, and YaRN brings distance 2 closer."""
    accuracy = example("position/extrapolation/core")["accuracy"]
    plain, *found = (accuracy(64, rule and YaRNScaling(rule, 32)) for rule in (None, 2.0, 4.0, 8.0))
    assert found[0] < plain - 0.05
    assert min(found[1:]) > plain - 0.01
    curves = tables.score_curves()
    assert curves["yarn"][1] - curves["yarn"][2] < curves["plain"][1] - curves["plain"][2]
    assert max(curves["yarn"][2:]) < curves["yarn"][1]
