"""The figures and tables on induction show what the trained model and the measurements say."""

import re

import pytest
import torch

from attn_docs.model.induction import encode, load_model, repeat_accuracy
from attn_docs.model.induction_circuits import copy_circuit, match_circuit
from docs._kit.measured import load
from docs._tools.page import page_module
from tests.kit import parse

benchmark = page_module("model/induction", "benchmark")
figures = page_module("model/induction", "figures")
tables = page_module("model/induction", "tables")

MEASURED = load(str(benchmark.__file__))
languages = pytest.mark.parametrize("language", ["en", "zh"])


@torch.no_grad()
def run(text: str) -> tuple[torch.Tensor, list[torch.Tensor]]:
    logits, weights = load_model()(encode(text), need_weights=True)
    return logits[0].softmax(-1), [layer[0, 0] for layer in weights]


@languages
def test_worked_texts_are_the_models(language: str) -> None:
    root = parse(figures.FIGURES["worked"](language))
    groups = {g.get("data-text"): g for g in root.iter("g") if g.get("data-text")}
    assert tuple(groups) == tables.WORKED
    for text, group in groups.items():
        shares, maps = run(text)
        shades = [float(cell.get("fill-opacity")) for cell in group.iter("rect")]
        wanted = [weight for layer in maps for weight in layer[-1].tolist()]
        assert shades == pytest.approx(wanted, abs=0.0051)
        written = " ".join(line.text for line in group.iter("text"))
        for share in shares[-1].topk(3).values.tolist():
            assert f"{share:.2f}" in written


@languages
def test_maps_and_circuits_draw_what_is_large(language: str) -> None:
    maps = run(figures.MAPPED)[1]
    circuits = [match_circuit(load_model()), copy_circuit(load_model())]
    shares = [(circuit / circuit.max()).clamp(0) for circuit in circuits]
    for name, parts, drawn, cell, least in (
        ("maps", ("map-1", "map-2"), maps, 13, 0.05),
        ("circuits", ("match", "copy"), shares, 5.5, 0.25),
    ):
        root = parse(figures.FIGURES[name](language))
        for part, matrix in zip(parts, drawn, strict=True):
            (group,) = (g for g in root.iter("g") if g.get("data-part") == part)
            frame, *cells = group.iter("rect")
            seen = torch.zeros_like(matrix)
            for each in cells:
                row = round((float(each.get("y")) - float(frame.get("y"))) / cell)
                column = round((float(each.get("x")) - float(frame.get("x"))) / cell)
                seen[row, column] = float(each.get("fill-opacity"))
            wanted = matrix.where(matrix >= least, torch.zeros(()))
            assert (seen - wanted).abs().max() <= 0.0051


@languages
def test_the_curve_draws_each_measurement(language: str) -> None:
    root = parse(figures.FIGURES["curve"](language))
    lines = {g.get("data-part"): g for g in root.iter("g") if g.get("data-part")}
    assert len(lines) == 4 * len(benchmark.SEEDS)
    curve, steps = MEASURED["curve"], range(0, benchmark.UNTIL + 1, benchmark.EVERY)
    for seed in benchmark.SEEDS:
        (path,) = lines[f"accuracy-{seed}"].iter("path")
        points = re.findall(r"[ML] ([\d.]+) ([\d.]+)", path.get("d"))
        heights = [(26 + 150 - float(y)) / 150 for _, y in points]
        wanted = [curve("accuracy", layers=2, seed=seed, step=step) for step in steps]
        assert heights == pytest.approx(wanted, abs=0.002)


def test_what_the_page_says_of_the_measurements_is_so() -> None:
    trained, curve = MEASURED["trained"], MEASURED["curve"]
    for seed in benchmark.SEEDS:
        one, two = (trained("accuracy", layers=layers, seed=seed) for layers in (1, 2))
        assert one <= 0.35
        assert two >= 0.97
        start = curve("accuracy", layers=2, seed=seed, step=benchmark.EARLY)
        assert start < one
        risen = [
            curve(score, layers=2, layer=layer, seed=seed, step=benchmark.LATE)
            - curve(score, layers=2, layer=layer, seed=seed, step=benchmark.EARLY)
            for score, layer in (("previous", 1), ("induction", 2))
        ]
        assert min(risen) > 0.2
        assert curve("accuracy", layers=2, seed=seed, step=benchmark.LATE) >= 0.8
        scores = [v for v in curve.values if v["quantity"] == "induction" and v["seed"] == seed]
        peak = max(scores, key=lambda value: value["value"])
        assert peak["step"] <= 300
        assert trained("induction", layers=2, layer=2, seed=seed) < peak["value"] - 0.1
        assert trained("CPU time", layers=2, seed=seed) <= 15


def test_the_table_of_cuts_is_the_models() -> None:
    found = tables.broken()
    assert found["whole"].accuracy == pytest.approx(
        repeat_accuracy(load_model(), tables.examined()), abs=0.001
    )
    assert found["second"].induction == found["whole"].induction
    assert found["query"].induction > found["whole"].induction
    assert found["query"].accuracy < found["whole"].accuracy
    assert found["key"].accuracy < 0.4
    assert found["value"].accuracy > 0.9


def test_even_weights_score_what_the_table_says() -> None:
    tokens = tables.examined().tokens[:, :-1]
    shares = [
        sum(row[j - 1] == row[i] for j in range(1, i + 1)) / (i + 1)
        for row in tokens.tolist()
        for i in range(len(row))
        if row[i] in row[:i]
    ]
    previous, induction = tables.even()
    assert induction == pytest.approx(sum(shares) / len(shares), abs=1e-4)
    assert previous == pytest.approx(sum(1 / (i + 1) for i in range(1, 32)) / 31, abs=1e-4)


@languages
def test_the_two_facts_are_the_letter_and_the_one_before_it(language: str) -> None:
    root = parse(figures.FIGURES["facts"](language))
    rows = {g.get("data-row"): [t.text for t in g.iter("text")] for g in root.iter("g")}
    text = tables.WORKED[0]
    assert rows["me"] == list(text)
    assert rows["before"] == list(text[:-1])
    lit = [
        g.get("data-row") for g in root.iter("g") for t in g.iter("text") if t.get("font-weight")
    ]
    assert lit == ["me", "me", "before"]
