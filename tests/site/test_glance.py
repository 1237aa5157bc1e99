"""The card at the head of a chapter: what it says, where it stands, how it looks."""

import re
from pathlib import Path
from urllib.parse import urljoin

import pytest
from selectolax.lexbor import LexborHTMLParser

from docs._kit import draw
from docs._kit.text import load, texts
from docs._tools import glance
from docs._tools.page import DOCS, folders
from docs.figures import LINKS
from tests.conftest import Site

CARDS = sorted({path.parents[1].relative_to(DOCS).as_posix() for path in glance.cards()})
LANGUAGES = {"en": ("", ""), "zh": ("zh/", ".zh")}
every_card = pytest.mark.parametrize(
    ("folder", "language"), [(folder, language) for folder in CARDS for language in LANGUAGES]
)


def card(site: Site, folder: str, language: str):
    html = site.pages[f"{LANGUAGES[language][0]}{folder}/"].read_text(encoding="utf-8")
    (found,) = LexborHTMLParser(html).css(".glance")
    return found


def test_a_chapter_has_a_card_at_its_head_and_no_other_page():
    for folder in folders():
        for _, suffix in LANGUAGES.values():
            page = (DOCS / folder / f"index{suffix}.md").read_text(encoding="utf-8")
            head, _, rest = page.partition("\n## ")
            include = f'\n--8<-- "docs/{folder}/made/glance{suffix}.md"\n'
            assert head.count(include) == (folder in CARDS), folder
            assert "/glance" not in rest
            if folder in CARDS:  # after one paragraph
                before = head.partition(include)[0].partition("\n# ")[2].strip()
                assert len(before.split("\n\n")) == 2, folder
    chapters = [folder for folder in folders() if "practice/" in folder or "heads/" in folder]
    assert set(chapters) <= set(CARDS)


@every_card
def test_a_card_says_its_rows_in_order(site: Site, folder: str, language: str):
    shown, words = card(site, folder, language), texts(draw.__file__, "glance", language)
    rows = load(DOCS / folder / "text.toml")[language]["glance"]
    assert [node.text() for node in shown.css("dt")] == [words[row] for row in rows]
    said = [node.text() for node in shown.css("dd")]
    assert len(said) == len(rows)
    assert [text for text in said if re.search(r"[$`*\[\]]|\{\{|\s$", text) or not text] == []
    assert [text for text in said if text[-1] in ".。"] == [], "a row is less than a sentence"


@every_card
def test_the_line_of_stages_leads_where_the_map_leads(site: Site, folder: str, language: str):
    items, lit = card(site, folder, language).css(".stages > li > a"), glance.stages_of(folder)
    if not lit:
        assert items == []
        return
    names = texts(draw.__file__, "stages", language)
    assert [item.text() for item in items] == list(names.values())
    bold = [item.attributes.get("aria-current") == "true" for item in items]
    assert bold == [stage in lit for stage in names]
    here = f"https://x/{LANGUAGES[language][0]}"
    for item, page in zip(items, LINKS.values(), strict=True):
        led = urljoin(f"{here}{folder}/", item.attributes["href"])
        assert led == here + page.replace("index.md", "")


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("width", [1280, 360])
def test_a_card_is_small(visit, width: int, language: str):
    tab = visit(f"{LANGUAGES[language][0]}heads/grouped-query/", width=width).tab
    box, line = tab.locator(".glance").bounding_box(), tab.locator(".stages")
    rows = line.evaluate("line => new Set([...line.children].map(e => e.offsetTop)).size")
    if width == 1280:
        assert rows == 1
        assert box["height"] <= 190
        assert line.bounding_box()["height"] <= 40
    assert rows < 5
    assert box["x"] + box["width"] <= width
    weight = "[a, b] => [a, b].map(e => getComputedStyle(e).fontWeight)"
    pair = "() => [document.querySelector('.stages a[aria-current]'),"
    pair += " document.querySelector('.stages a:not([aria-current])')]"
    lit, plain = tab.evaluate(f"({weight})(({pair})())".replace("[a, b] =>", "([a, b]) =>"))
    assert int(lit) > int(plain), "colour alone tells nothing to some"


def test_no_card_is_high(visit, site: Site):
    tab, high = visit(f"{CARDS[0]}/", width=1280).tab, {}
    for folder in CARDS:  # each in the place of the first: the pages around them are alike
        put = "(card, html) => { card.outerHTML = html; document.body.offsetHeight;"
        put += " return document.fonts.ready.then(() => true) }"  # a card asks for its own
        tab.locator(".glance").evaluate(put, card(site, folder, "en").html)
        high[folder] = tab.locator(".glance").bounding_box()["height"]
    assert {folder: height for folder, height in high.items() if not 60 < height <= 190} == {}


def page_of(folder: Path, stages: str, rows: str) -> None:
    folder.mkdir()
    (folder / "index.md").write_text(f"---\nstages: [{stages}]\n---\n\n# P\n", encoding="utf-8")
    (folder / "text.toml").write_text(f"[glance]\n{rows}", encoding="utf-8")


ROW = '{} = {{ en = "a", zh = "一" }}\n'


@pytest.mark.parametrize(
    ("stages", "rows", "message"),
    [
        ("scor", ["changes", "costs"], r"p/index\.md: stages must be of .*got \['scor'\]"),
        ("mask, score", ["changes", "costs"], "in this order"),
        ("score", ["costs", "changes"], r"p/text\.toml: glance must have 2 to 5 .*in this order"),
        ("score", ["costs"], r"got \['costs'\]"),
        ("score", ["changes", "price"], r"got \['changes', 'price'\]"),
    ],
)
def test_a_card_that_is_wrong_names_its_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stages: str, rows: list[str], message: str
):
    monkeypatch.setattr(glance, "DOCS", tmp_path)
    page_of(tmp_path / "p", stages, "".join(map(ROW.format, rows)))
    with pytest.raises(glance.GlanceError, match=message):
        glance.card("p", "en")


def test_a_page_without_stages_has_no_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(glance, "DOCS", tmp_path)
    page_of(tmp_path / "p", "", ROW.format("changes") + ROW.format("costs"))
    assert "stages" not in glance.card("p", "zh")
