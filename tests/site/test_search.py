"""Each language has its own index, made when the site is built and fetched when it is used."""

import json
import re
from pathlib import Path
from types import SimpleNamespace

import pytest
from playwright.sync_api import Page, Route, expect

from docs._tools import search
from docs._tools.search import described, finish, in_language, index, taken_apart, without_pictures
from tests.conftest import Site
from tests.site.look import REPLACED, names_of
from tests.site.test_finding import ASK

CONFIG = {"lang": ["en", "zh"], "separator": r"[\s\-_,.()]+"}
UNREADY = {"en": "Initializing search", "zh": "正在初始化搜索引擎"}  # Material's words
MASKS = "reference/api/masks/"
NOTE = ".search-note"


def entry(location: str, title: str = "", text: str = "", **more: object) -> dict[str, object]:
    return {"location": location, "title": title, "text": text, **more}


DOCS = [
    entry("masks/", "Masks", "<p>What a <code>Mask</code> hides</p>", tags=["causal mask"]),
    entry("masks/#padding", "Padding", tags=["causal mask"]),
    entry(MASKS, "masks"),
    entry(f"{MASKS}#masks.causal_mask", "<code>causal_mask(length, *, device='cpu')</code>"),
    entry(f"{MASKS}#masks.Hidden.rowCount", "<code>rowCount = 3</code> (constant)"),
    entry(f"{MASKS}#masks.of", "<code>of</code>"),
    entry("zh/masks/", "掩码", "<p>因果\u200b掩码\u200b遮住</p>", tags=["因果\u200b掩码"]),
    entry("zh/masks/#padding", "填充"),
]


def made(language: str, terms: dict[str, list[str]] | None = None) -> dict[str, dict]:
    """Return the entries of a language's index by their addresses."""
    docs = json.loads(json.dumps(DOCS))
    found = {doc["location"]: doc for doc in index(docs, CONFIG, language, terms or {})["docs"]}
    assert docs == DOCS, "the entries of the other language are made from them too"
    return found


def test_an_index_holds_its_language_and_what_is_in_english_only():
    english = [str(doc["location"]) for doc in DOCS if not str(doc["location"]).startswith("zh/")]
    assert [doc["location"] for doc in in_language(DOCS, "en", ["en", "zh"])] == english
    assert list(made("en")) == english
    api = [place for place in english if "api" in place]
    assert list(made("zh")) == [*api, "zh/masks/", "zh/masks/#padding"]


def test_the_title_of_an_api_entry_is_its_name():
    titles = [doc["title"] for place, doc in made("en").items() if place.startswith(f"{MASKS}#")]
    assert titles == ["causal_mask", "rowCount (constant)", "of"]


def test_names_that_nobody_types_by_chance_lead_to_the_reference_in_its_language():
    names = {
        lang: [doc["api"] for doc in made(lang).values() if "api" in doc] for lang in ("en", "zh")
    }
    assert names == {"en": ["", "causal_mask", "rowCount", ""], "zh": [""] * 4}


def test_an_entry_has_its_names_in_both_languages():
    english, chinese = made("en"), made("zh")
    assert english["masks/"]["tags"] == ["causal mask"]
    assert english["masks/"]["others"] == ["掩码", "因果掩码"]
    assert english["masks/#padding"]["others"] == ["填充"]
    assert "tags" not in english["masks/#padding"], "those of its page"
    assert chinese["zh/masks/"]["others"] == ["Masks", "causal mask"]
    assert not [doc for place, doc in english.items() if "api" in place and "others" in doc]


def test_terms_of_the_glossary_are_names_of_what_explains_them(tmp_path: Path, monkeypatch):
    file = tmp_path / "glossary.toml"
    monkeypatch.setattr(search, "GLOSSARY", file)
    assert search.glossary() == {}
    file.write_text(
        '[pad]\nen = "padding"\nzh = "填充"\naliases = ["pad"]\npage = "masks/#padding"\n'
        '[fill]\nen = "fill"\nzh = "填"\naliases = []\npage = "masks/#padding"\n',
        encoding="utf-8",
    )
    terms = search.glossary()
    assert terms == {"masks/#padding": ["padding", "填充", "pad", "fill", "填"]}
    assert made("en", terms)["masks/#padding"]["terms"] == terms["masks/#padding"]
    assert made("zh", terms)["zh/masks/#padding"]["terms"] == terms["masks/#padding"]


def test_what_a_section_is_asked_for_by_is_a_name_of_it(tmp_path: Path, monkeypatch):
    monkeypatch.setattr(search, "DOCS", tmp_path)
    (tmp_path / "a/masks").mkdir(parents=True)
    (tmp_path / "a/masks/asked.toml").write_text('pad = ["left pad", "左填充"]\n', encoding="utf-8")
    assert search.asked() == {"a/masks/#pad": ["left pad", "左填充"]}


def test_what_is_asked_for_by_another_name_exists_and_is_named(site: Site):
    for language in ("en", "zh"):
        text = (site.path / f"search/{language}.js").read_text(encoding="utf-8")
        docs = json.loads(text.removeprefix("var searchIndex = "))["docs"]
        root = "" if language == "en" else "zh/"
        named = {doc["location"].removeprefix(root): doc.get("terms", []) for doc in docs}
        for place, names in search.asked().items():
            assert set(names) <= set(named[place]), place


def test_sentences_are_shown_and_code_and_tables_are_only_found():
    html = (
        "<p>One &lt;\u200btwo\u200b.</p> "
        "attn_docs/a.py<pre><code>import torch\nx = mask</code></pre>"
        "<ul> <li>Three <p>four</p> five</li> </ul> Head 1,024 Head x"
    )
    text, words = taken_apart(html)
    assert text.splitlines() == ["One <two.", "Three", "four", "five"]
    assert words.split() == ["import", "torch", "mask", "Head", "024"]


def test_what_is_no_text_of_a_page_is_left_out():
    formula = '<span class="formula" data-search-exclude=""><math>{}<annotation>{}</math></span>'
    html = (
        '<p>a</p><svg class="figure"><title>The line</title></svg><ol class="stages"><li>mix</ol>'
        "<p>b</p>" + formula.format("<msqrt><mi>d</mi></msqrt>", r"\\sqrt{d}")
    )
    assert re.sub(r"\s+", "", without_pictures(html)) == "<p>a</p><p>b</p>√d"


def test_what_a_head_says_of_its_page_is_found():
    assert described("<h1>A</h1><p>b</p>", "x < y") == "<h1>A</h1><p>x &lt; y</p><p>b</p>"


def test_the_index_holds_no_boilerplate(site: Site):
    for language in ("en", "zh"):
        text = (site.path / f"search/{language}.js").read_text(encoding="utf-8")
        docs = json.loads(text.removeprefix("var searchIndex = "))["docs"]
        shown = " ".join(doc.get("text", "") for doc in docs)
        for words in ("a line of nine stages", "import torch", "\u200b", "data-search", "</"):
            assert words not in shown, words


def written(site: Path) -> dict[str, str]:
    return {file.name: file.read_text(encoding="utf-8") for file in (site / "search").iterdir()}


def test_finishing_leaves_one_index_a_language(tmp_path: Path):
    (tmp_path / "search").mkdir()
    whole = tmp_path / "search/search_index.json"
    whole.write_text(json.dumps({"config": CONFIG, "docs": DOCS}), encoding="utf-8")
    (tmp_path / "search/search_index.js").write_text("var __index = the whole", encoding="utf-8")
    finish(tmp_path)
    files = written(tmp_path)
    found = {name: json.loads(t.removeprefix("var searchIndex = ")) for name, t in files.items()}
    terms = search.glossary()
    assert found == {f"{lang}.js": index(DOCS, CONFIG, lang, terms) for lang in ("en", "zh")}
    finish(tmp_path)
    assert written(tmp_path) == files, "it is finished"


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
    (ours,) = tab.workers
    replaced = tab.evaluate(REPLACED, names_of(tab))
    assert replaced + ours.evaluate(REPLACED) == [], "in the page or in its worker"
    assert "/workers/search.js?" in ours.url, "the theme's own is not asked"


def test_quoted_words_are_all_asked_for(visit, address):
    queries = ["softmax xylophone", '"softmax xylophone"', '"softmax pgvector sutskever"']
    found = answers(visit("", width=1280).tab, address, *queries)
    assert [bool(pages) for pages in found] == [True, False, False]


def test_an_address_can_ask(visit, address):
    page = visit("?q=luong", width=1280)
    first = page.tab.locator(".md-search-result__item a").first
    expect(first).to_have_attribute("href", re.compile(f"^{address}foundations/bilinear/"))
    assert not page.complaints


def asked(visit, url: str, query: str, width: int = 1280) -> SimpleNamespace:
    """Open a page, and paste a query: no key goes up."""
    page = visit(url, width=width)
    if width < 960:
        page.tab.locator("label.md-header__button[for=__search]").click()
    field = page.tab.locator(".md-search__input")
    field.focus()
    field.fill(query)
    expect(page.tab.locator(".md-search-result__meta")).to_have_text(
        re.compile("matching|符合条件|没有找到"), timeout=30_000
    )
    return page


def test_an_unknown_word_finds_nothing_and_is_told(visit):
    tab = asked(visit, "", "xyzzy").tab
    expect(tab.locator(NOTE)).to_have_text("“xyzzy” is not on this site.")
    expect(tab.locator(".md-search-result__meta")).to_have_text("No matching documents")
    tab.locator(".md-search__input").fill("")
    expect(tab.locator(NOTE)).to_have_text("")


@pytest.mark.parametrize(
    ("url", "query", "near", "page"),
    [
        ("", "rotarry embedding", "rotary", "position/rotary/"),
        ("zh/", "掩马", "掩码", "zh/foundations/masks/"),
    ],
)
def test_what_is_near_is_found_and_offered(visit, address, url, query, near, page):
    tab = asked(visit, url, query, width=360).tab
    first = tab.locator(".md-search-result__item a").first
    expect(first).to_have_attribute("href", re.compile(f"^{address}{page}"))
    tab.locator(f"{NOTE} button", has_text=near).click()
    expect(tab.locator(NOTE)).to_have_text("")
    assert near in tab.locator(".md-search__input").input_value()


@pytest.mark.parametrize(
    ("url", "query", "there"),
    [("foundations/masks/", "量子", "zh/foundations/masks/"), ("zh/", "kubernetes", "")],
)
def test_a_word_of_the_other_language_leads_there(visit, address, url, query, there):
    tab = asked(visit, url, query).tab
    link = tab.locator(f"{NOTE} a")
    expect(link).to_have_attribute("href", re.compile(rf"^{address}{there}\?q="))


def test_a_page_is_found_by_its_name_in_the_other_language(visit, address):
    tab = visit("", width=1280).tab
    assert [p[0] for p in answers(tab, address, "掩码", "旋转位置编码")] == [
        "foundations/masks/",
        "position/rotary/",
    ]


def test_a_hit_shows_the_sentence_that_matches(visit):
    tab = asked(visit, "", "largest number of float16").tab
    shown = tab.locator(".md-search-result__item").first
    expect(shown).to_contain_text("The largest number of float16 is 65,504")
    expect(shown.locator("mark").first).to_be_visible()


def lit(tab: Page) -> list[str]:
    """Return what the page lights."""
    found: list[str] = tab.evaluate(
        "[...CSS.highlights.get('sought') ?? []].map(String).filter(Boolean)"
    )
    return [text.lower() for text in found]


def test_the_words_that_a_reader_came_with_are_lit_until_put_out(visit, address):
    page = visit("foundations/masks/?h=padding+softmax#exercises", width=1280)
    words = set(lit(page.tab))
    assert {"padding", "softmax"} <= words
    assert all(word.startswith(("pad", "softmax")) for word in words)
    assert not [r for r in page.requests if r.startswith(f"{address}search/")]
    page.tab.locator(".put-out").click()
    assert lit(page.tab) == []
    assert page.tab.url == f"{address}foundations/masks/#exercises"
    assert not page.complaints


def test_what_stands_together_is_lit_alone_and_escape_puts_it_out(visit):
    tab = visit("heads/multi-head/?h=multi+head+attention", width=1280).tab
    assert {word.replace("-", " ") for word in lit(tab)} == {"multi head attention"}
    tab.locator(".md-search__input").focus()
    expect(tab.locator("#__search")).to_be_checked()
    tab.keyboard.press("Escape")
    expect(tab.locator("#__search")).not_to_be_checked()
    assert lit(tab), "the key closed the search"
    tab.keyboard.press("Escape")
    assert lit(tab) == []
    assert tab.locator(".put-out").count() == 0


def test_chinese_words_are_lit(visit):
    assert set(lit(visit("zh/foundations/masks/?h=因果掩码", width=360).tab)) == {"因果掩码"}


def test_a_power_is_not_read_as_a_longer_number():
    power = "<msup><mn>10</mn><mn>9</mn></msup>"
    math = f"<math><semantics>{power}<annotation>10^9</annotation></semantics></math>"
    assert without_pictures(f'<p><span class="formula">{math}</span></p>') == "<p>10^9</p>"
