"""Each language has its own index, made when the site is built and fetched when it is used."""

import json
import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, Route, expect

from docs._tools.search import finish, index
from tests.conftest import Site
from tests.site.test_browser import REPLACED
from tests.site.test_finding import ASK

CONFIG = {"lang": ["en", "zh"], "separator": r"[\s\u200b\-_,.()]+|(?<=[a-z]{2})(?=[A-Z][a-z])"}
UNREADY = {"en": "Initializing search", "zh": "正在初始化搜索引擎"}  # Material's words
MASKS = "reference/api/masks/"


def entry(location: str, title: str = "", text: str = "", **more: object) -> dict[str, object]:
    return {"location": location, "title": title, "text": text, **more}


DOCS = [
    entry("masks/", "Masks", "<p>What a <code>Mask</code> hides</p>", tags=["causal mask"]),
    entry("masks/#causal", "The causal one", "softmax", tags=["causal mask"]),
    entry("masks/#padding", "Padding"),
    entry(MASKS, "masks"),
    entry(f"{MASKS}#attn_docs.masks", "<code>attn_docs.masks</code>"),
    entry(
        f"{MASKS}#attn_docs.masks.causal_mask", "<code>causal_mask(length, *, device='cpu')</code>"
    ),
    entry(f"{MASKS}#attn_docs.masks.Hidden.rowCount", "<code>rowCount = 3</code> (constant)"),
    entry("zh/masks/", "掩码", "因果\u200b掩码\u200b遮住", tags=["因果掩码"]),
    entry("zh/masks/#padding", "填充"),
]


def made(language: str) -> dict[str, dict]:
    """Return the entries of a language's index by their addresses."""
    docs = json.loads(json.dumps(DOCS))
    found = {doc["location"]: doc for doc in index(docs, CONFIG, language)["docs"]}
    assert docs == DOCS, "the entries of the other language are made from them too"
    return found


def test_an_index_holds_its_language_and_what_is_in_english_only():
    english = [doc["location"] for doc in DOCS if not str(doc["location"]).startswith("zh/")]
    assert list(made("en")) == english
    assert list(made("zh")) == [place for place in english if "api" in place] + [
        "zh/masks/",
        "zh/masks/#padding",
    ]


def test_the_reference_comes_after_the_chapters():
    boosts = {place: doc.get("boost") for place, doc in made("en").items()}
    assert boosts == {place: 0.5 if place.startswith(MASKS) else None for place in boosts}


def test_the_title_of_an_api_entry_is_its_name():
    titles = [doc["title"] for place, doc in made("en").items() if place.startswith(f"{MASKS}#")]
    assert titles == [
        "<code>attn_docs.masks</code>",
        "<code>causal_mask</code>",
        "<code>rowCount</code> (constant)",
    ]


def test_names_that_nobody_types_by_chance_lead_to_their_page():
    assert index(DOCS, CONFIG, "en")["names"] == {"causal_mask": MASKS, "rowCount": MASKS}


def test_a_page_has_the_headings_of_its_sections():
    headings = {
        place: doc.get("headings") for place, doc in made("en").items() if "headings" in doc
    }
    assert headings == {"masks/": "The causal one Padding"}
    assert made("zh")["zh/masks/"]["headings"] == "填充"


def test_tags_are_those_of_pages_and_their_chinese_words_are_apart():
    assert {place: doc["tags"] for place, doc in made("en").items() if "tags" in doc} == {
        "masks/": ["causal mask"]
    }
    assert made("zh")["zh/masks/"]["tags"] == ["因果\u200b掩码"]
    unknown = [entry("zh/", "自注意", tags=["自注意力 x"])]
    assert index(unknown, CONFIG, "zh")["docs"][0]["tags"] == ["自注意\u200b力 x"]


def test_known_words_are_those_of_titles_texts_and_tags():
    docs = [
        entry("", "MultiHead", "<p>A <b>row</b>-wise sum</p>", tags=["因果"]),
        entry("zh/", "别的"),
        entry("zh/only/", "词"),
    ]
    known = index(docs, CONFIG, "en")["words"]
    assert known == "a head multi row sum wise 因 果"


def written(site: Path) -> dict[str, str]:
    return {file.name: file.read_text(encoding="utf-8") for file in (site / "search").iterdir()}


def test_finishing_leaves_one_index_a_language_and_the_settings(tmp_path: Path):
    (tmp_path / "search").mkdir()
    whole = tmp_path / "search/search_index.json"
    whole.write_text(json.dumps({"config": CONFIG, "docs": DOCS}), encoding="utf-8")
    (tmp_path / "search/search_index.js").write_text("var __index = the whole", encoding="utf-8")
    finish(tmp_path)
    files = written(tmp_path)
    settings = {"config": CONFIG, "docs": []}
    assert json.loads(files.pop("search_index.json")) == settings
    assert json.loads(files.pop("search_index.js").removeprefix("var __index = ")) == settings
    found = {name: json.loads(t.removeprefix("var searchIndex = ")) for name, t in files.items()}
    assert found == {f"{lang}.js": index(DOCS, CONFIG, lang) for lang in ("en", "zh")}
    with pytest.raises(ValueError, match=r"search_index\.json must be .* just built; got none"):
        finish(tmp_path)


def test_finishing_leaves_a_site_with_another_search_alone(tmp_path: Path):
    (tmp_path / "search.json").write_text("{}", encoding="utf-8")
    finish(tmp_path)
    assert [file.name for file in tmp_path.iterdir()] == ["search.json"]


def focused_early(route: Route) -> None:
    """Have the search field focused before anything of the theme is there to notice."""
    script = route.fetch().text()
    early = 'document.querySelector(".md-search__input").focus();'
    route.fulfill(body=early + script, content_type="text/javascript")


@pytest.mark.parametrize(("url", "language"), [("", "en"), ("zh/", "zh")])
@pytest.mark.parametrize("early", [False, True])
def test_an_index_is_fetched_once_search_opens(visit, tab, address, url, language, early):
    if early:
        tab.route("**/bundle.*.js", focused_early)
    page = visit(url, width=1280)
    tab.unroute_all()
    meta, before = tab.locator(".md-search-result__meta"), UNREADY[language]
    if not early:
        expect(meta).to_have_text(before)
        tab.locator(".md-search__input").focus()
    expect(meta).not_to_have_text(before, timeout=30_000)  # ready before anything is typed
    fetched = [r.removeprefix(address) for r in page.requests if r.startswith(f"{address}search/")]
    assert fetched == [f"search/{language}.js"]
    assert tab.locator(".md-search__input").input_value() == ""
    assert not page.complaints


def answers(tab: Page, address: str, *queries: str) -> list[list[str]]:
    """Return the pages that answer each query, best first."""
    return [
        [links[0].partition("#")[0] for links in found]
        for found in tab.evaluate(ASK, [queries, address])
    ]


def test_the_entry_of_a_name_comes_first(visit, address):
    queries = ["causal_mask", "attn_docs.causal_mask(4)", "causal mask"]
    found = answers(visit("", width=1280).tab, address, *queries)
    entry, chapter = "reference/api/foundations/masks/", "foundations/masks/"
    assert [pages[0] for pages in found] == [entry, entry, chapter]


def test_searching_replaces_nothing(visit, address):
    tab = visit("", width=1280).tab
    assert answers(tab, address, "softmax") != [[]]
    ours, theirs = tab.workers
    assert tab.evaluate(REPLACED) + ours.evaluate(REPLACED) == [], "in the page or in its worker"
    assert "/workers/search.js?" in ours.url
    assert "/workers/search." in theirs.url, "the theme's own"


def test_quoted_words_are_all_asked_for(visit, address):
    queries = ["softmax xylophone", '"softmax xylophone"']
    found = answers(visit("", width=1280).tab, address, *queries)
    assert [bool(pages) for pages in found] == [True, False]


def test_an_address_can_ask(visit, address):
    page = visit("?q=bahdanau", width=1280)
    first = page.tab.locator(".md-search-result__item a").first
    expect(first).to_have_attribute("href", re.compile(f"^{address}foundations/additive/"))
    assert not page.complaints


def test_the_words_that_a_reader_came_with_are_lit(visit, site: Site, address):
    page = visit("foundations/masks/?h=softmax", width=1280)
    expect(page.tab.locator("article mark").first).to_have_text(re.compile("softmax", re.I))
    fetched = [r.removeprefix(address) for r in page.requests if r.startswith(f"{address}search/")]
    assert fetched == ["search/search_index.json"]
    assert (site.path / fetched[0]).stat().st_size < 1000
    assert not page.complaints
