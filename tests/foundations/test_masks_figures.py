"""The figures about masks show the masks and weights they name."""

import re
from xml.etree import ElementTree as ET

import pytest

from attn_docs import attention_weights
from attn_docs.sentence import embeddings, projections
from docs._kit.draw import SHADE
from docs._tools.page import page_module

figures = page_module("foundations/masks", "figures")


languages = pytest.mark.parametrize("language", ["en", "zh"])


def cells(group: ET.Element) -> dict[tuple[int, int], ET.Element]:
    """Return the cells by where they are seen: row from the top, column from the left."""
    rects = list(group.iter("rect"))
    left, top = (min(float(rect.attrib[name]) for rect in rects) for name in ("x", "y"))
    size = float(rects[0].attrib["width"])
    found = {}
    for rect in rects:
        row = (float(rect.attrib["y"]) - top) / size
        column = (float(rect.attrib["x"]) - left) / size
        assert (row, column) == (int(rect.attrib["data-row"]), int(rect.attrib["data-column"]))
        found[int(row), int(column)] = rect
    assert len(found) == len(rects)
    return found


WANTED = {
    "gallery": {
        "padding": ["110", "110", "110"],
        "both": ["100", "110", "110"],
        "wrong": ["111", "111", "000"],
    },
    "alignment": {
        "first": ["1000", "1100"],
        "last": ["1110", "1111"],
    },
    "kinds": {
        "window": ["10000", "11000", "01100", "00110", "00011"],
        "prefix": ["11000", "11000", "11100", "11110", "11111"],
        "both_sides": ["11000", "11100", "01110", "00111", "00011"],
    },
}
NAMES = {
    "en": {
        "padding": "padding mask",
        "both": "causal & padding",
        "wrong": "wrong axis",
        "first": "upper left",
        "last": "lower right",
        "window": "window of 2",
        "prefix": "prefix of 2",
        "both_sides": "two-sided",
    },
    "zh": {
        "padding": "填充掩码",
        "both": "因果 & 填充",
        "wrong": "加错了轴",
        "first": "左上角对齐",
        "last": "右下角对齐",
        "window": "窗口宽度 2",
        "prefix": "前缀长度 2",
        "both_sides": "双侧窗口",
    },
}
panels = pytest.mark.parametrize(
    ("figure", "which"), [(figure, which) for figure in WANTED for which in WANTED[figure]]
)


def panel_of(figure: str, language: str, which: str) -> ET.Element:
    """Return the part of a figure of four masks that shows the named one."""
    root = ET.fromstring(figures.FIGURES[figure](language))  # noqa: S314 - our own
    for element in root.iter():
        element.tag = element.tag.rpartition("}")[2]
    (found,) = (g for g in root.findall("g") if g.get("data-mask") == which)
    return found


@languages
@panels
def test_each_mask_is_filled_and_crossed_as_it_should_be(language, figure, which):
    group = panel_of(figure, language, which)
    found = cells(group)
    rows = WANTED[figure][which]
    assert set(found) == {(i, j) for i, row in enumerate(rows) for j in range(len(row))}
    crossed = set()
    for x, y in re.findall(r"M([\d.]+),([\d.]+)", group.find("path").attrib["d"]):
        for place, rect in found.items():
            left, top, size = (float(rect.attrib[name]) for name in ("x", "y", "width"))
            if left < float(x) < left + size and top < float(y) < top + size:
                crossed.add(place)
    for (i, j), rect in found.items():
        assert (float(rect.attrib["fill-opacity"]) > 0.5) == (rows[i][j] == "1")
        assert ((i, j) in crossed) == (rows[i][j] == "0")


@languages
@panels
def test_each_mask_names_itself_and_its_axes(language, figure, which):
    group = panel_of(figure, language, which)
    grid = cells(group)
    left, top, size = (float(grid[0, 0].attrib[name]) for name in ("x", "y", "width"))
    texts = {text.text: text for text in group.iter("text") if not text.text.isdigit()}
    query, key = {"en": ("query ↓", "key →"), "zh": ("查询 ↓", "键 →")}[language]
    assert set(texts) == {query, key, NAMES[language][which]}
    assert float(texts[query].attrib["x"]) < left < float(texts[key].attrib["x"])
    rows, columns = {}, {}
    for text in group.iter("text"):
        if text.text.isdigit():
            x, y = float(text.attrib["x"]), float(text.attrib["y"]) - 4.2
            if x < left:
                rows[round((y - top) / size - 0.5)] = text.text
            else:
                columns[round((x - left) / size - 0.5)] = text.text
                assert y < top
    wanted = WANTED[figure][which]
    assert rows == {index: str(index) for index in range(len(wanted))}
    assert columns == {index: str(index) for index in range(len(wanted[0]))}


@languages
@pytest.mark.parametrize("figure", sorted(WANTED))
def test_descriptions_count_the_keys_that_each_query_sees(language, figure):
    root = ET.fromstring(figures.FIGURES[figure](language))  # noqa: S314 - our own
    desc = root.find("{http://www.w3.org/2000/svg}desc").text.replace("、", ", ")
    for rows in WANTED[figure].values():
        assert ", ".join(str(row.count("1")) for row in rows) in desc


@languages
@pytest.mark.parametrize("name", ["all", "causal"])
def test_the_sentence_shows_its_weights_and_crosses_what_comes_later(language, name):
    root = ET.fromstring(figures.FIGURES["sentence"](language))  # noqa: S314 - our own
    for element in root.iter():
        element.tag = element.tag.rpartition("}")[2]
    (group,) = (g for g in root.findall("g") if g.get("data-weights") == name)
    weights = attention_weights(
        *(embeddings() @ w for w in projections(figures.SHARPNESS)[:2]), is_causal=name == "causal"
    )
    shown = [text.text for text in group.iter("text") if re.fullmatch(r"\d\.\d\d", text.text)]
    allowed = [(i, j) for i in range(5) for j in range(5) if name == "all" or j <= i]
    assert shown == [f"{weights[place]:.2f}" for place in allowed]
    for place, rect in grid_cells(group).items():
        assert float(rect.attrib["fill-opacity"]) == pytest.approx(
            SHADE * weights[place].item(), abs=0.006
        )
    crosses = [path.attrib["d"].count("M") for path in group.iter("path")]
    assert crosses == ([] if name == "all" else [10])


def grid_cells(group: ET.Element) -> dict[tuple[int, int], ET.Element]:
    """Return the cells of a grid that are not square, by their row and column."""
    return {
        (int(rect.attrib["data-row"]), int(rect.attrib["data-column"])): rect
        for rect in group.iter("rect")
    }
