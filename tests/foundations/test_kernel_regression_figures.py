"""The figures on kernel regression show the fits, weights and losses they claim."""

import math
import re
from xml.etree import ElementTree as ET

import pytest
import torch

from attn_docs import nadaraya_watson
from docs._kit.draw import SHADE
from docs._tools.page import page_module
from tests.kit import parse

figures = page_module("foundations/kernel-regression", "figures")
tables = page_module("foundations/kernel-regression", "tables")

languages = pytest.mark.parametrize("language", ["en", "zh"])


def points(root: ET.Element, part: str) -> list[tuple[float, float]]:
    """Return every place that the path of a part names, moved to where it is drawn."""
    (path,) = root.findall(f".//g[@data-part='{part}']/path")
    values = [float(number) for number in re.findall(r"-?[\d.]+", path.attrib["d"])]
    moved = re.findall(r"-?[\d.]+", path.get("transform", "0,0"))
    right, down = (float(number) for number in moved)
    return [(x + right, y + down) for x, y in zip(values[::2], values[1::2], strict=True)]


def axis(root: ET.Element, labels: list[str], which: str, panel: int = 0, nth: int = 0):
    """Return the function from a place to its value, from the labels of two ticks."""
    places = []
    for label in labels:
        found = [t for t in root.iter("text") if t.text == label and t.get("font-weight") is None]
        each = len(found) // 3 or 1  # the same label on both axes of a panel
        places.append(float(found[each * panel + min(nth, each - 1)].attrib[which]))
    first, last = (float(label.replace("−", "-")) for label in labels)
    slope = (last - first) / (places[1] - places[0])
    return lambda place: first + slope * (place - places[0])


@languages
@pytest.mark.parametrize("part", ["mean", "nearest", "kernel"])
def test_the_three_ways_answer_what_their_definitions_say(part, language) -> None:
    root = parse(figures.FIGURES["ways"](language))
    keys, values = torch.tensor([0.0, 1.0, 3.0]), torch.tensor([2.0, 4.0, 10.0])
    drawn = points(root, part)
    (left, *_, right) = [x for x, _ in drawn]
    floor, top = (y for _, y in (points(root, "nearest")[0], points(root, "nearest")[-1]))
    for across, up in drawn:
        x = -0.5 + 4 * (across - left) / (right - left)
        if min(abs(x - 0.5), abs(x - 2)) < 0.03:
            continue  # the staircase jumps here
        y = 2 + 8 * (up - floor) / (top - floor)
        shares = torch.exp(-0.5 * (x - keys) ** 2)
        wanted = {
            "mean": values.mean(),
            "nearest": values[(x - keys).abs().argmin()],
            "kernel": (shares * values).sum() / shares.sum(),
        }
        assert y == pytest.approx(float(wanted[part]), abs=0.1)


@languages
def test_the_fits_are_the_predictions_with_the_widths_named(language) -> None:
    root = parse(figures.FIGURES["fit"](language))
    x, y = figures.pairs()
    titles = [t.text for t in root.iter("text") if t.get("font-weight")]
    assert [title.split()[1] for title in titles] == [f"{width:g}" for width in figures.WIDTHS]
    for index, width in enumerate(figures.WIDTHS):
        across, up = axis(root, ["1", "6"], "x", index), axis(root, ["−2", "0"], "y", index, 1)
        # a tick's label stands lower than the tick, by the same distance everywhere
        curve = points(root, f"curve-{index}")
        lower = up(curve[0][1]) - 2 * math.sin(across(curve[0][0]))
        fit = torch.tensor(
            [(across(px), up(py) - lower) for px, py in points(root, f"fit-{index}")]
        )
        wanted = nadaraya_watson(fit[:, 0].double(), x, y, width=width)
        assert (fit[:, 1] - wanted).abs().median() < 0.02
        for px, py in curve:
            assert up(py) - lower == pytest.approx(2 * math.sin(across(px)), abs=0.05)
        ends = torch.tensor(
            [(across(px), up(py) - lower) for px, py in points(root, f"pairs-{index}")]
        )
        ends = ends.view(40, 2, 2)
        assert (ends[:, :, 0] - x[:, None]).abs().max() < 0.03
        assert (ends[:, :, 1].mean(1) - y).abs().max() < 0.05


@languages
def test_the_cells_are_the_weights_a_row_for_each_query(language) -> None:
    root = parse(figures.FIGURES["weights"](language))
    query = torch.tensor([0.0, 1.5, 3.0, 4.5, 6.0])
    keys = torch.arange(7.0)
    _, weights = nadaraya_watson(query, keys, keys, width=1.0, need_weights=True)
    bold = [t for t in root.iter("text") if t.get("font-weight")]
    assert [t.text for t in bold] == [f"{n:g}" for n in [*keys.tolist(), *query.tolist()]]
    cells = {(r.get("data-row"), r.get("data-column")): r for r in root.iter("rect")}
    texts = {t.get("data-cell"): t for t in root.iter("text") if t.get("data-cell")}
    assert len(cells) == len(texts) == 35
    for (row, column), cell in cells.items():
        weight = weights[int(row), int(column)].item()
        shade = SHADE * weight / weights.max().item()
        assert float(cell.attrib["fill-opacity"]) == pytest.approx(shade, abs=0.01)
        text = texts[f"{row},{column}"]
        assert text.text == f"{weight:.2f}"
        assert 0 < float(text.attrib["x"]) - float(cell.attrib["x"]) < float(cell.attrib["width"])
        assert 0 < float(text.attrib["y"]) - float(cell.attrib["y"]) < float(cell.attrib["height"])
    assert f"{weights[1, 2]:.2f}" in root.findtext("desc")


@languages
def test_the_losses_are_those_at_each_width_and_the_dot_is_the_lowest(language) -> None:
    root = parse(figures.FIGURES["loss"](language))
    up = axis(root, ["0", "0.6"], "y")
    texts = {t.text: float(t.attrib["x"]) for t in root.iter("text")}
    left, right = texts["0.02"], texts["5"]

    def across(place: float) -> float:
        return 0.02 * 250 ** ((place - left) / (right - left))

    for which, part in enumerate(("itself", "left-out")):
        line = points(root, part)
        lower = up(line[0][1]) - figures.losses(0.02)[which]
        for px, py in line:
            assert up(py) - lower == pytest.approx(figures.losses(across(px))[which], abs=0.03)
        losses = [figures.losses(width)[which] for width in (0.03, 0.1, 0.23, 0.5, 2)]
        assert (min(losses) == losses[0]) == (part == "itself")
    dot = torch.tensor(points(root, "learned")[:-1])
    middle = (dot.amax(0) + dot.amin(0)) / 2
    learned = figures.learn(leave_one_out=True)
    assert across(middle[0].item()) == pytest.approx(learned.width, rel=0.05)
    assert up(middle[1].item()) - lower == pytest.approx(learned.loss, abs=0.03)
    assert any(f"{learned.width:.2f}" in text for text in texts)


def test_numbers_are_the_measurements() -> None:
    found = figures.numbers()
    learned, own = figures.learn(leave_one_out=True), figures.learn(leave_one_out=False)
    assert float(found["learned_width"]) == pytest.approx(learned.width, abs=0.005)
    assert float(found["own_width"]) == pytest.approx(own.width, abs=0.005)
    assert float(found["own_error"]) > 3 * float(found["learned_error"])
    assert float(found["own_loss"]) == 0


def test_numbers_of_the_worked_example_add_up() -> None:
    found = {name: float(text) for name, text in tables.numbers().items()}
    assert found["share_far"] + 2 * found["share_near"] == pytest.approx(1, abs=2e-4)
    mixed = 2 * found["share_far"] + 14 * found["share_near"]
    assert found["output"] == pytest.approx(mixed, abs=2e-3)
    assert found["sum_powers"] == pytest.approx(math.exp(-2) + 2 * math.exp(-0.5), abs=1e-4)
    assert found["mean"] == pytest.approx(16 / 3, abs=5e-3)
