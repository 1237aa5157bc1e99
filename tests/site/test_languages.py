"""English and Chinese pages come in pairs and show the same things in the same order."""

import re
from pathlib import Path

import pytest

from docs._tools import built
from tests.conftest import Site
from tests.site.test_census import DOCS, PAGES, address

ENGLISH = [page for page in PAGES if not page.name.endswith(".zh.md")]
ENGLISH_ONLY = DOCS / "reference" / "api"
TRANSLATED = [p for p in ENGLISH if p.stem == "index" or ENGLISH_ONLY not in p.parents]
PAIRS = pytest.mark.parametrize(
    "source",
    [page for page in TRANSLATED if page.parent != ENGLISH_ONLY],
    ids=lambda page: page.relative_to(DOCS).as_posix(),
)


def chinese(source: Path) -> Path:
    """Return the place of a page's translation."""
    return source.with_suffix(".zh.md")


def test_every_page_has_its_translation_and_no_translation_stands_alone() -> None:
    there = {page for page in PAGES if page.name.endswith(".zh.md")}
    assert {chinese(page) for page in TRANSLATED} == there


def outline(site: Site, source: Path) -> dict[str, list[object]]:
    """Return what must be the same in both languages: all that is no sentence."""
    article = next(e for e in site.tree(address(source)).iter() if e.tag == "article")
    outline: dict[str, list[object]] = {"headings": [], "formulas": [], "figures": []}
    for element in article.iter():
        if re.fullmatch("h[2-6]", element.tag):
            outline["headings"].append((element.tag, element.get("id")))
        elif element.tag == "annotation":
            outline["formulas"].append(" ".join("".join(element.itertext()).split()))
        elif element.tag == "svg" and element.get("class") == "figure":
            outline["figures"].append(element.get("aria-labelledby"))
    code = built.code_blocks(site.pages[address(source)])
    # the comments in a shell block are sentences
    outline["blocks"] = [text for language, text in code if language != "console"]
    return outline


@PAIRS
def test_both_show_the_same_things_in_the_same_order(source: Path, site: Site) -> None:
    english, translated = outline(site, source), outline(site, chinese(source))
    for what in english:
        assert translated[what] == english[what], f"{what} of {chinese(source).name}"


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


# Opinions need somebody who holds them: a reader cannot look up "study notes".
NOBODY = (
    r"study notes|one often reads|often said|people say|it is said|学习笔记|常有人说|常听说|有人说"
)


def test_no_page_argues_with_somebody_who_has_no_name() -> None:
    texts = [*PAGES, *(DOCS.parent / "attn_docs").rglob("*.py")]
    said = {
        path.relative_to(DOCS.parent).as_posix(): found[0]
        for path in texts
        if (found := re.search(NOBODY, path.read_text(encoding="utf-8"), re.IGNORECASE))
    }
    assert not said
