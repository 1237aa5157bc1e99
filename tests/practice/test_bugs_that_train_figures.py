"""The grids show each verdict at its place, the curves the losses of the runs."""

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
@pytest.mark.parametrize("section", bugs.SECTIONS)
def test_each_cell_of_a_grid_is_a_verdict(language, section):
    root = parse(f"matrix-{section}", language)
    rows = [group for group in root.iter("g") if group.get("data-row")]
    names = [name for shown in bugs.SECTIONS[section].values() for name in shown]
    assert [row.get("data-row") for row in rows] == names
    places = [round(place, 2) for place in figures.column_places(section)]
    for row in rows:
        cells = {}
        for path in row.iter("path"):
            # a mark starts at its left: half its own width from its column's middle
            verdict = path.get("data-verdict")
            assert (path.get("fill") == figures.ACCENT) == (verdict == "fail")
            half = {"fail": 4.5, "pass": 1.5, "no-verdict": 2.5}[verdict]
            for left in re.findall(r"M([\d.]+) ", path.get("d")):
                cells[round(float(left) + half, 1)] = verdict
        seen = [cells[round(place, 1)].replace("-", " ") for place in places]
        assert seen == figures.cells_of(row.get("data-row"))
        assert len(cells) == len(places) == len(figures.columns_of(section)) + 2


@languages
@pytest.mark.parametrize("section", bugs.SECTIONS)
def test_a_grid_leaves_out_what_fails_for_none_of_its_bugs_and_says_how_many(language, section):
    left_out = set(bugs.COLUMNS) - set(figures.columns_of(section))
    assert not left_out & set(bugs.SECTIONS[section])
    for name in bugs.bugs_of(section):
        found = dict(zip(bugs.COLUMNS, bugs.verdicts(name), strict=True))
        assert "fail" not in {found[column] for column in left_out}
    said = " ".join(parse(f"matrix-{section}", language).itertext())
    numbers = {int(number) for number in re.findall(r"\d+", said)}
    assert {len(left_out), len(bugs.COLUMNS)} <= numbers


@languages
def test_what_holds_in_a_wrong_layer_is_not_called_missed(language):
    """22 of the properties hold without the scale: the checks that ask for them are right."""
    assert bugs.verdicts("missing_scale").count("pass") > 15
    for section in bugs.SECTIONS:
        said = " ".join(kit.parse(figures.FIGURES[f"matrix-{section}"](language)).itertext())
        assert not re.search("missed|漏", said)


@languages
def test_headings_of_a_grid_are_the_properties_in_order(language):
    texts = [t for t in parse("matrix-mask", language).iter("text") if t.get("transform")]
    assert [text.text for text in texts][2:] == figures.columns_of("mask")
    for text, place in zip(texts, figures.column_places("mask"), strict=True):
        assert float(re.search(r"translate\(([\d.]+)", text.get("transform"))[1]) == pytest.approx(
            place, abs=0.01
        )


@languages
def test_description_of_a_grid_names_what_catches_each_bug(language):
    for section, shown in bugs.SECTIONS.items():
        desc = next(parse(f"matrix-{section}", language).iter("desc")).text
        for names in shown.values():
            for name in names:
                caught = [
                    c for c, v in zip(bugs.COLUMNS, bugs.verdicts(name), strict=True) if v == "fail"
                ]
                comma = ", " if language == "en" else "、"
                assert comma.join(caught) in desc


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
