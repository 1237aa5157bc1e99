"""English and Chinese pages come in pairs and show the same things in the same order."""

import re
from pathlib import Path
from xml.etree.ElementTree import Element

import pytest

from docs._tools import built
from tests.conftest import Site
from tests.site.test_census import DOCS, PAGES, address

ENGLISH = [page for page in PAGES if not page.name.endswith(".zh.md")]
ENGLISH_ONLY = DOCS / "reference" / "api"
TRANSLATED = [p for p in ENGLISH if p.parent == ENGLISH_ONLY or ENGLISH_ONLY not in p.parents]
PAIRS = pytest.mark.parametrize(
    "source",
    [page for page in TRANSLATED if page.parent != ENGLISH_ONLY],
    ids=lambda page: page.relative_to(DOCS).as_posix(),
)


def chinese(source: Path) -> Path:
    """Return the place of a page's translation."""
    return source.with_suffix(".zh.md")


def article(site: Site, source: Path) -> Element:
    """Return the part of a built page that its source makes."""
    return next(e for e in site.tree(address(source)).iter() if e.tag == "article")


def both(site: Site, source: Path) -> tuple[Element, Element]:
    """Return a page's article in English and in Chinese."""
    return article(site, source), article(site, chinese(source))


def test_every_page_has_its_translation_and_no_translation_stands_alone() -> None:
    there = {page for page in PAGES if page.name.endswith(".zh.md")}
    assert {chinese(page) for page in TRANSLATED} == there


@PAIRS
def test_headings_have_the_same_levels_and_anchors(source: Path, site: Site) -> None:
    english, translated = (
        [(e.tag, e.get("id")) for e in page.iter() if re.fullmatch("h[2-6]", str(e.tag))]
        for page in both(site, source)
    )
    assert translated == english


@PAIRS
def test_blocks_are_the_same(source: Path, site: Site) -> None:
    english, translated = (
        [text for language, text in built.code_blocks(site.pages[address(page)]) if language != "console"]
        for page in (source, chinese(source))
    )
    assert translated == english


@PAIRS
def test_formulas_are_the_same(source: Path, site: Site) -> None:
    english, translated = (
        ["".join(e.itertext()) for e in page.iter() if e.tag == "annotation"]
        for page in both(site, source)
    )
    assert translated == english


@PAIRS
def test_figures_are_the_same_but_in_the_reader_s_language(source: Path, site: Site) -> None:
    english, translated = (
        [e for e in page.iter() if e.tag == "svg" and e.get("role") == "img"]
        for page in both(site, source)
    )
    names = [[figure.get("aria-labelledby") for figure in page] for page in (english, translated)]
    assert names[0] == names[1]
    for figure in translated:
        assert re.search("[一-鿿]", "".join(figure.itertext())), figure.get("aria-labelledby")


@PAIRS
def test_numbers_in_sentences_are_the_same(source: Path) -> None:
    english, translated = (
        sorted(re.findall(r"\{\{ [a-z0-9_.]+ \}\}", page.read_text(encoding="utf-8")))
        for page in (source, chinese(source))
    )
    assert translated == english


@PAIRS
def test_links_lead_to_the_same_places(source: Path) -> None:
    english, translated = (
        sorted(re.findall(r"\]\(([^)]+)\)|\]\[([\w.]+)\]", page.read_text(encoding="utf-8")))
        for page in (source, chinese(source))
    )
    assert translated == english
