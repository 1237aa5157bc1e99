"""The maps show what each output depends on, the curves the losses of the runs."""

import re
from xml.etree import ElementTree as ET

import pytest

from docs._tools.page import page_module
from tests import kit

figures = page_module("practice/bugs-that-train", "figures")
bugs = page_module("practice/bugs-that-train", "bugs")


languages = pytest.mark.parametrize("language", ["en", "zh"])


def parse(name: str, language: str) -> ET.Element:
    return kit.parse(figures.FIGURES[name](language))


@languages
@pytest.mark.parametrize("letter", bugs.QUIZ)
def test_curves_are_the_losses(language, letter):
    groups = {group.get("data-part"): group for group in parse("curves", language).iter("g")}
    numbers = re.findall(r"-?[\d.]+", groups[letter].find("path").get("d"))
    heights = [float(number) for number in numbers][1::2]
    expected = figures.smooth(bugs.losses(bugs.QUIZ[letter]))
    # 70 units stand for 3.3 nats
    assert heights[-1] - heights[0] == pytest.approx(
        (expected[0] - expected[-1]) * 70 / 3.3, abs=0.2
    )


@languages
@pytest.mark.parametrize("figure", ["curves", "maps"])
def test_the_quiz_does_not_tell_which_layer_is_right(figure, language):
    labels = {text.text for text in parse(figure, language).iter("text")}
    for letter, name in bugs.QUIZ.items():
        assert any(label.startswith(letter) for label in labels)
        assert not any(name in label for label in labels)
    assert list(bugs.QUIZ.values()).count("right") == 1
    ends = [bugs.last(bugs.losses(name)) for name in bugs.QUIZ.values()]
    assert min(ends) < bugs.last(bugs.losses("right")) == max(ends)  # the right one is not best


@languages
@pytest.mark.parametrize("name", bugs.MAPS)
def test_each_cell_of_a_map_is_a_share(language, name):
    group = next(g for g in parse("maps", language).iter("g") if g.get("data-map") == name)
    shares = bugs.dependence(name, bugs.ROW)
    cells = {}
    for cell in group.iter("rect"):
        place = (int(cell.get("data-row")), int(cell.get("data-column")))
        cells[place] = float(cell.get("fill-opacity"))
        assert cells[place] == pytest.approx(float(shares[place]), abs=0.006)
    left, top = (min(float(cell.get(side)) for cell in group.iter("rect")) for side in "xy")
    for cell in group.iter("rect"):
        across = (float(cell.get("x")) - left) / figures.CELL
        down = (float(cell.get("y")) - top) / figures.CELL
        first = (min(row for row, _ in cells), min(column for _, column in cells))
        assert down + first[0] == pytest.approx(int(cell.get("data-row")))
        assert across + first[1] == pytest.approx(int(cell.get("data-column")))
    assert len(cells) == int((shares >= figures.LEAST).sum())


@languages
def test_description_of_the_maps_has_the_shares(language):
    desc = next(parse("maps", language).iter("desc")).text
    for name in bugs.MAPS:
        for share in bugs.taken(name):
            assert re.search(rf"\b{round(100 * share)} ?%", desc)
