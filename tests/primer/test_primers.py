"""The figures of the primers show what PyTorch computes, and the pages stay short."""

import math
import re

import pytest
import torch

from docs._tools.page import DOCS, page_module
from tests.kit import parse

tensors, gradients, statistics = (
    page_module(f"primer/{name}", "figures") for name in ("tensors", "gradients", "statistics")
)
PAGES = sorted(DOCS.glob("primer/*/index.md"))
FOLDED = r"(?m)^\?\?\? .*\n(?:(?: {4}.*)?\n)*"
NOT_PROSE = r"(?ms)\A---\n.*?^---\n|^ *```.*?^ *```$|^--8<--.*?$|\{ #[^}]*\}|\]\([^)]*\)|^///.*?$"


def test_the_masks_are_drawn_as_pytorch_broadcasts_them() -> None:
    root = parse(tensors.broadcasting("en"))
    cells = [float(c.attrib["fill-opacity"]) for c in root.iter("rect") if c.get("data-row")]
    row, column = torch.tensor(cells).view(2, 5, 5) > 0
    hidden = torch.tensor([0, 0, 0, 0, 1]).bool()
    assert torch.equal(row, torch.zeros(5, 5).bool() | hidden)
    assert torch.equal(column, torch.zeros(5, 5).bool() | hidden[:, None])


def test_the_slope_is_that_of_the_curve() -> None:
    def weight(score: float) -> float:
        return torch.tensor([score, 0, 0], dtype=torch.float64).softmax(0)[0].item()

    height, slope = gradients.slope_at(1.0)
    assert height == pytest.approx(weight(1.0))
    assert slope == pytest.approx((weight(1 + 1e-6) - weight(1 - 1e-6)) / 2e-6, rel=1e-6)
    said = gradients.numbers()
    assert float(said["further"]) == pytest.approx(weight(1.1), abs=5e-4)
    lines = [e.attrib for e in parse(gradients.slope("en")).iter("path") if "L" in e.get("d", "")]
    x1, y1, x2, y2 = map(float, re.findall(r"-?[\d.]+", lines[-1]["d"]))
    rise = (y1 - y2) / gradients.HEIGHT / ((x2 - x1) / gradients.WIDTH * 8)
    assert rise == pytest.approx(slope, rel=0.01)


def test_steps_go_downhill_where_the_loss_is_steep() -> None:
    for name, loss in gradients.LOSSES.items():
        scores = torch.tensor([-5.0, 0, 0], dtype=torch.float64, requires_grad=True)
        for _ in range(40):
            (gradient,) = torch.autograd.grad(loss(scores.softmax(0)[0]), scores)
            scores = (scores - 0.5 * gradient).detach().requires_grad_()
        leads, losses = gradients.descent(name)
        assert leads[-1] == pytest.approx((scores[0] - scores[1]).item())
        dots = [
            e for e in parse(gradients.downhill("en")).iter("rect") if e.get("data-loss") == name
        ]
        drawn = [float(dot.attrib["y"]) + 3.5 for dot in dots]
        assert drawn == pytest.approx([gradients.spot(0, value)[1] for value in losses], abs=0.01)


def test_the_longer_vectors_products_spread_as_the_root_says() -> None:
    for size in statistics.SIZES:
        assert statistics.products(size).std().item() == pytest.approx(size**0.5, rel=0.02)
    rects = list(parse(statistics.spread("en")).iter("rect"))
    wide = [float(r.attrib["width"]) for r in rects if not r.get("data-count")]
    assert wide[1] == pytest.approx(4 * wide[0], rel=0.01)


def test_scores_and_shares_are_drawn_as_high_as_they_are() -> None:
    rects = [r for r in parse(statistics.leads("en")).iter("rect") if r.get("data-of")]
    assert len(rects) == 4 * len(statistics.LEADS)
    for lead in statistics.LEADS:
        share = 1 / (1 + math.exp(-lead))
        for name, most, numbers in (("scores", 8, (lead, 0)), ("shares", 1, (share, 1 - share))):
            bars = [r for r in rects if r.get("data-of") == f"{lead} {name}"]
            high = [float(bar.attrib["height"]) for bar in bars]
            assert high == pytest.approx([statistics.UP * n / most for n in numbers], abs=0.01)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.parent.name)
def test_a_primer_takes_five_minutes(page) -> None:
    text = page.read_text(encoding="utf-8")
    read = re.sub(FOLDED, "", text)  # an answer is opened by those who want it
    assert len(re.sub(NOT_PROSE, "", read).split()) <= 5 * 165
    examples = re.findall(r'--8<-- "(attn_docs/[^"]+)"', text)
    assert len(examples) <= 5
    for path in examples:
        lines = (DOCS.parent / path).read_text(encoding="utf-8").splitlines()
        assert sum(not line.startswith("#>") for line in lines) <= 15, path
