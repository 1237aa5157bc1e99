"""The map of attention on the home page has the whole line, and leads to all chapters about it."""

import itertools
import re
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from playwright.sync_api import expect

from docs._kit import draw
from docs._kit.draw import STAGES
from docs._kit.text import texts
from docs._tools.glance import stages_of
from docs._tools.page import page_module, place_of

figures = page_module("", "figures")

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
DOCS = Path(__file__).parents[1] / "docs"
CHAPTERS = {
    page.relative_to(DOCS).as_posix()
    for page in DOCS.glob("[!_]*/*/index.md")
    if place_of(page.relative_to(DOCS).as_posix()).is_chapter
    and "\nredirect: " not in page.read_text(encoding="utf-8")
}
WHOLE_LINE = {
    "checkpoints/from-hugging-face/index.md",
    "checkpoints/models/index.md",
    "checkpoints/whole-model/index.md",
    "kernels/which-kernel/index.md",
    "memory/decode-cost/index.md",
    "model/block/index.md",
    "model/language-model/index.md",
    "practice/bugs-that-train/index.md",
    "practice/test-your-attention/index.md",
}


def place(element: ET.Element) -> tuple[float, float]:
    return float(element.attrib["y"]), float(element.attrib["x"])


@pytest.mark.parametrize("language", ["en", "zh"])
def test_map_explains_every_stage_in_order(language):
    root = ET.fromstring(figures.FIGURES["map"](language))  # noqa: S314 - our own
    cards = sorted(root.findall(f"{SVG}g/{SVG}a"), key=lambda card: place(card.find(f"{SVG}rect")))
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
        *shown, chapter = [text.text for text in texts]
        names.append(shown[0])
        works.append((" " if language == "en" else "").join(shown[1:]))
        spoken = [card.attrib["aria-label"].index(text) for text in shown]
        assert spoken == sorted(spoken)
        assert chapter in card.attrib["aria-label"].rpartition(shown[-1])[2]
    assert names == LINE[language]
    assert works[3] == ASKED[language]
    assert all(works)
    assert len(set(works)) == 9
    desc = root.findtext(f"{SVG}desc")
    positions = [desc.index(work) for work in works]
    assert positions == sorted(positions)


def lit(page: str) -> set[str]:
    """Return the stages that a chapter says it is about."""
    return set(stages_of(place_of(page.partition("#")[0]).folder))


def points(path: str) -> list[tuple[float, float]]:
    """Return every point that a path of absolute commands names."""
    values = [float(number) for number in re.findall(r"-?[\d.]+", path)]
    return list(zip(values[::2], values[1::2], strict=True))


@pytest.mark.parametrize("language", ["en", "zh"])
def test_arrows_lead_from_each_stage_to_the_next(language):
    root = ET.fromstring(figures.FIGURES["map"](language))  # noqa: S314 - our own
    boxes = [card.find(f"{SVG}rect").attrib for card in root.findall(f"{SVG}g/{SVG}a")]
    stages = [[float(box[name]) for name in ("x", "y", "width", "height")] for box in boxes]
    paths = root.findall(f"{SVG}path")
    lines = [points(path.attrib["d"]) for path in paths if path.get("fill") == "none"]
    tips = [points(path.attrib["d"]) for path in paths if path.get("fill") != "none"]
    assert len(stages) == 9
    pairs = itertools.pairwise(stages)
    for (stage, following), line, tip in zip(pairs, lines, tips, strict=True):
        for (x, y), (left, top, width, height) in ((line[0], stage), (tip[0], following)):
            assert left - 3 <= x <= left + width + 3
            assert top - 3 <= y <= top + height + 3


def test_stages_lead_to_chapters_that_light_them():
    assert list(figures.LINKS) == list(STAGES)
    for stage, page in figures.LINKS.items():
        assert stage in lit(page), page


def test_table_below_the_map_has_every_chapter_where_it_lights_a_stage():
    page = (DOCS / "index.md").read_text(encoding="utf-8")
    table = page.partition("## The map of attention")[2].partition("\n## ")[0]
    found = set()
    for head, cell in re.findall(r"^ *\| ([\w ,]+) \| (.+) \|$", table, re.MULTILINE)[1:]:
        chapters = set(re.findall(r"\]\(([\w/-]+\.md)", cell))
        stages = {
            s
            for s, name in texts(draw.__file__, "stages", "en").items()
            if name in head.split(", ")
        }
        assert stages or head == "all stages"
        assert [c for c in chapters - WHOLE_LINE if not stages & lit(c)] == [], head
        found |= chapters
    assert found == CHAPTERS


@pytest.mark.parametrize("language", ["en", "zh"])
def test_stage_is_reached_with_the_keyboard(visit, address, language):
    home = "" if language == "en" else "zh/"
    tab = visit(home).tab
    link = tab.get_by_role("link", name=ASKED[language])
    link.focus()
    tab.keyboard.press("Shift+Tab")
    tab.keyboard.press("Tab")
    expect(link).to_be_focused()
    expect(link.locator("rect").first).to_have_css("stroke-width", "3px")
    tab.keyboard.press("Enter")
    expect(tab).to_have_url(f"{address}{home}foundations/scoring-functions/")
