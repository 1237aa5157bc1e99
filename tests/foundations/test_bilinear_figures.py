"""The figures on bilinear attention show the factors and the head they claim."""

import pytest
import torch

from attn_docs.sentence import projections
from docs._tools.page import page_module
from tests.kit import parse

figures = page_module("foundations/bilinear", "figures")


languages = pytest.mark.parametrize("language", ["en", "zh"])


@languages
def test_the_factors_differ_and_their_products_agree(language):
    root = parse(figures.FIGURES["factors"](language))
    runs = [g for g in root.iter("g") if "data-run" in g.attrib]
    first, second = (
        {e.attrib["data-cell"]: e.text for e in run.iter("text") if "data-cell" in e.attrib}
        for run in runs
    )
    w_q, w_k, _ = projections(sharpness=4.0)
    wanted = (w_q @ w_k.T)[:4, :4]
    wanted = wanted - wanted.mean(-1, keepdim=True)
    for cell, text in first.items():
        name, row, column = cell.split(",")
        if name == "W":
            number = f"{wanted[int(row), int(column)].item():.1f}".replace("-", "−")
            assert text == second[cell] == number
        else:
            assert text != second[cell]


def test_the_share_three_places_back_is_the_drawn_heads():
    assert float(figures.numbers()["three_back"]) == round(figures.three_back()) > 90


@languages
def test_the_trained_heads_matrix_points_three_places_back(language):
    weights = figures.learned()
    assert (weights.argmax(-1)[3:] == torch.arange(figures.LENGTH - 3)).all()
    drawn = [
        cell.get("data-weight") for cell in parse(figures.FIGURES["positions"](language)).iter()
    ]
    there = weights[torch.ones_like(weights, dtype=torch.bool).tril()]
    assert [float(cell) for cell in drawn if cell] == pytest.approx(there.tolist(), abs=0.006)


def test_each_head_points_three_back_everywhere_or_seven_back_somewhere():
    heads = figures.places_back()
    assert all((back == {3, 7}) or not back >= {3, 7} for back in heads)  # no fourth kind
    numbers = figures.numbers()
    kinds = [int(numbers[f"{kind}_heads"]) for kind in ("clean", "other", "idle")]
    assert sum(kinds) == len(heads) == 20
    assert kinds[2] == 1  # "the last one"
