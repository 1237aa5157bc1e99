"""The map of attention on the home page has the whole line, each stage explained in its place."""

from xml.etree import ElementTree as ET

import pytest

from attn_docs.figures.index import FIGURES

LINE = {
    "en": [
        "project",
        "split heads",
        "place",
        "score",
        "mask",
        "normalise",
        "mix",
        "merge heads",
        "project",
    ],
    "zh": ["投影", "拆分多头", "位置", "打分", "掩码", "归一化", "加权求和", "合并多头", "投影"],
}
ASKED = {"en": "how well does each key fit the query?", "zh": "每个键与查询有多匹配？"}
SVG = "{http://www.w3.org/2000/svg}"


def place(element: ET.Element) -> tuple[float, float]:
    return float(element.attrib["y"]), float(element.attrib["x"])


@pytest.mark.parametrize("language", ["en", "zh"])
def test_map_explains_every_stage_in_order(language):
    root = ET.fromstring(FIGURES["map"](language))  # noqa: S314 - our own
    cards = sorted(root.findall(f"{SVG}g"), key=lambda group: place(group.find(f"{SVG}rect")))
    names = []
    works = []
    for card in cards:
        rect = card.find(f"{SVG}rect")
        (top, left), texts = place(rect), card.findall(f"{SVG}text")
        for text in texts:
            y, x = place(text)
            assert left < x < left + float(rect.attrib["width"])
            assert top < y < top + float(rect.attrib["height"])
        assert texts == sorted(texts, key=place)
        names.append(texts[0].text)
        works.append((" " if language == "en" else "").join(text.text for text in texts[1:]))
    assert names == LINE[language]
    assert works[3] == ASKED[language]
    assert all(works)
    assert len(set(works)) == 9
    desc = root.findtext(f"{SVG}desc")
    positions = [desc.index(work) for work in works]
    assert positions == sorted(positions)
