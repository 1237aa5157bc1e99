"""Figures and tables of the chapter on lengths beyond training, compared with what was stored."""

import itertools
import math
import statistics

import pytest
import torch

from attn_docs import apply_rotary
from attn_docs.model.induction import load_model
from attn_docs.position.extrapolation import KINDS
from docs._kit import measured
from docs._tools.page import page_module
from tests.kit import parse

figures = page_module("position/extrapolation", "figures")
tables = page_module("position/extrapolation", "tables")
bench = page_module("position/extrapolation", "benchmark")
STORED = measured.load(bench.__file__)


@pytest.mark.parametrize("language", ["en", "zh"])
def test_every_line_ends_at_the_mean_of_its_seeds(language: str) -> None:
    root = parse(figures.reach(language))
    parts = {g.get("data-part"): g for g in root.iter("g") if g.get("data-part")}
    lines = (*KINDS, "yarn")
    assert set(parts) == {f"{place}-{kind}" for place in ("near", "start") for kind in lines}
    for place in ("near", "start"):
        heights = {}
        for kind in lines:
            (path,) = parts[f"{place}-{kind}"].iter("path")
            numbers = [float(x) for x in path.get("d").replace("L", " ").replace("M", " ").split()]
            assert len(numbers) == 2 * len(bench.LENGTHS)
            heights[kind] = numbers[-1]
        values = {
            kind: statistics.mean(
                STORED["kinds"]("accuracy", kind=kind, seed=s, place=place, length=256)
                for s in bench.SEEDS
            )
            for kind in KINDS
        }
        values["yarn"] = tables.mean(STORED["rules"], rule="yarn", place=place, length=256)
        # a straight line through two of them gives the others
        a, b = "rotary", "alibi"
        slope = (heights[b] - heights[a]) / (values[b] - values[a])
        for kind in lines:
            wanted = heights[a] + slope * (values[kind] - values[a])
            assert heights[kind] == pytest.approx(wanted, abs=0.2)


def test_labels_stand_apart_and_in_the_order_of_their_lines() -> None:
    heights = {"a": 0.99, "b": 1.0, "c": 0.98, "d": 0.1, "e": 0.12}
    placed = figures.spread(heights, 0.1)
    order = sorted(heights, key=lambda name: heights[name])
    assert order == sorted(placed, key=lambda name: placed[name])
    places = sorted(placed.values())
    assert all(b - a >= 0.1 - 1e-9 for a, b in itertools.pairwise(places))
    assert places[-1] <= 1.0


@torch.no_grad()
def test_the_scores_are_those_of_all_pairs_of_symbols() -> None:
    model = load_model()
    block, places = model.blocks[0], torch.arange(256)
    x = block.attention_norm(model.token_embedding.weight)
    for name, rule in figures.SCALED.items():
        query = apply_rotary(
            block.attention.q_proj(x)[:, None, None], torch.tensor([255]), scaling=rule
        )
        keys = block.attention.k_proj(x)[:, None, None].expand(-1, 1, 256, -1)
        keys = apply_rotary(keys, 255 - places, scaling=rule)
        scores = torch.einsum("aijd,bind->abn", query, keys) / math.sqrt(64)
        wanted = scores.mean((0, 1))
        found = torch.tensor(figures.score_curves()[name])
        assert (found - wanted).abs().max() < 1e-3
    tops = {
        name: max(range(256), key=of.__getitem__) for name, of in figures.score_curves().items()
    }
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
    for kind in ("learned", "sinusoidal"):
        assert found[kind, "near", 40] < 0.5
        assert found[kind, "start", 256] > 0.9
        assert found[kind, "half", 64] < 0.15
    for n in bench.LENGTHS[1:]:  # linear is worse than no rule in near at every length
        linear = tables.mean(STORED["rules"], rule="linear", place="near", length=n)
        assert linear < found["rotary", "near", n]
    layers = {
        (change, place): tables.mean(STORED["layers"], change=change, place=place, length=256)
        for change in ("yarn in layer 1", "yarn in layer 2", "narrow")
        for place in bench.PLACES
    }
    assert layers["yarn in layer 1", "near"] > 0.9  # the same cause, in one layer and the other
    assert layers["yarn in layer 1", "start"] < found["rotary", "start", 256] + 0.1
    assert layers["yarn in layer 2", "start"] > 0.95
    assert layers["yarn in layer 2", "near"] < 0.5
    window = tables.mean(STORED["changes"], kind="none", change="window", place="near", length=256)
    assert layers["narrow", "near"] > window
    for n in bench.LENGTHS[1:]:  # these three lose nothing with YaRN, the shipped model does
        yarn = tables.mean(STORED["rules"], rule="yarn", place="near", length=n)
        assert yarn > found["rotary", "near", n] - 1e-3
