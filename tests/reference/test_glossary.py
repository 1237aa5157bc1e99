"""The glossary: one wording a term, and a quiet link from its first use on each page."""

import re
from collections import Counter
from pathlib import Path
from xml.etree.ElementTree import Element

import pytest
from markdown import Markdown
from selectolax.lexbor import LexborHTMLParser

from docs._tools import glossary
from docs._tools.finish.twin import twin
from docs._tools.glossary import GlossaryError, terms
from docs._tools.page import page_module
from tests.conftest import Site

PAGE = "heads/multi-query/index.md"
LINK = re.compile(r'<a class="term" href="[^"]*#([\w-]+)"[^>]*>([^<]*)</a>')


@pytest.fixture
def linked(monkeypatch: pytest.MonkeyPatch):
    """Return a text of a page as it is shown, its links to the glossary as [text|term]."""

    def convert(text: str, page: str = PAGE) -> str:
        monkeypatch.setattr(glossary, "page_name", lambda _: page)
        names = ["admonition", "attr_list", "footnotes", "tables", "toc", "pymdownx.superfences"]
        names += ["pymdownx.arithmatex", "pymdownx.blocks.caption"]
        generic = {"pymdownx.arithmatex": {"generic": True}}
        extensions = [*names, glossary.GlossaryExtension()]
        html = Markdown(extensions=extensions, extension_configs=generic).convert(text)
        return LINK.sub(r"[\2|\1]", html)

    return convert


def test_first_use_is_linked_and_the_next_is_not(linked) -> None:
    assert linked("A mask, a mask.\n\nA mask.") == "<p>A [mask|mask], a mask.</p>\n<p>A mask.</p>"


def test_a_link_leads_to_the_entry_and_says_what_it_means(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(glossary, "page_name", lambda _: PAGE.replace(".md", ".zh.md"))
    html = Markdown(extensions=[glossary.GlossaryExtension()]).convert("用到掩码。")
    href, says = "../../reference/glossary/index.md#mask", terms()["mask"]["says"]["zh"]
    assert html == f'<p>用到<a class="term" href="{href}" title="{says}">掩码</a>。</p>'


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("An additive mask.", ["additive mask"]),  # the longest name
        ("Several queries, and Softmax.", ["queries", "Softmax"]),
        ("Keys and masks.", ["Keys", "masks"]),
        ("A KV\ncache.", ["KV\ncache"]),
        ("Monkeys, key-like, unmasked, header, tokenise.", []),  # parts of words
        ("The *mask* **token** [query](x.md) `score` $key$.", ["mask"]),
        ("**Prefill.** Then prefill.", []),  # explained there
        ("See [the token](x.md). A token.", []),
        ("Multi-query attention.", []),  # the page's own subject
        ("The attention has a mean.", []),  # everybody knows, or everything is
        ("A mask, a token, a score.", ["mask", "token"]),  # two in a paragraph
        ("A mask.\n{ .measured }", []),  # what stands below a table
        ("- a mask\n- a token\n- a score", ["mask", "token", "score"]),
        ("- a mask\n\n    of a token\n\n- a score", ["mask", "token", "score"]),
        ("# Masks\n\n| token |\n| --- |\n| query |\n\n[^1] x\n\n[^1]: a score\n", []),
        ("```text\nmask\n```\n\n/// caption\ntoken\n///\n\n![score](a.svg)", []),
        ('!!! note "Masks"\n    A token.', ["token"]),
        ("A [^1] mask.\n\n## Sources\n\nA token.", ["mask"]),
    ],
)
def test_what_is_linked(linked, text: str, found: list[str]) -> None:
    assert re.findall(r"\[([^|\]]*)\|[\w-]+\]", linked(text)) == found


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("加性掩码加到分数上。", ["加性掩码", "分数"]),
        ("每个键都与查询比较。", ["键", "查询"]),
        ("关键在于头部，数值很大。", []),
        ("键和值", ["键"]),
        ("KV缓存（KV Cache）", ["KV缓存"]),
        ("解码器与解码", ["解码器", "解码"]),
        ("用 RoPE，不是 eRoPE。", ["RoPE"]),
    ],
)
def test_what_is_linked_in_chinese(linked, text: str, found: list[str]) -> None:
    html = linked(text, "heads/cross-attention/index.zh.md")
    assert re.findall(r"\[([^|\]]*)\|[\w-]+\]", html) == found


@pytest.mark.parametrize("page", ["index.md", "reference/cite/index.md", "a docstring"])
def test_other_pages_stay_as_they_are(linked, page: str) -> None:
    assert linked("A mask.", page) == "<p>A mask.</p>"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda text: text.replace('en = "KV cache"\n', ""), "kv-cache must have"),
        (lambda text: text.replace('aliases = ["GQA"', 'aliases = ["MQA"'), "['mqa'] twice"),
        (lambda text: text.replace('en = "mask"', 'en = "a mask"'), "must be sorted"),
        (lambda text: text.replace("says.zh", "says.de", 1), "ablation must have"),
    ],
)
def test_a_faulty_entry_is_refused(change, message: str, tmp_path: Path, monkeypatch) -> None:
    file = tmp_path / "glossary.toml"
    file.write_text(change(glossary.FILE.read_text(encoding="utf-8")), encoding="utf-8")
    monkeypatch.setattr(glossary, "FILE", file)
    with pytest.raises(GlossaryError, match=re.escape(message)):
        terms.__wrapped__()


def test_entries_are_short_sentences() -> None:
    for key, term in terms().items():
        english, chinese = term["says"]["en"], term["says"]["zh"]
        assert re.fullmatch(r"[^.]*(\d\.\d|et al\.|[^.])*\.", english), key
        assert len(english) < 150, key
        assert chinese.endswith("。"), key
        assert len(chinese) < 60, key
        assert not re.search("[`*$<]", english + chinese), key


def test_each_entry_leads_to_what_explains_it(site: Site) -> None:
    tables = page_module("reference/glossary", "tables")
    for url, language in (("reference/glossary/", "en"), ("zh/reference/glossary/", "zh")):
        shown = [e.get("id") for e in site.tree(url).findall(".//dt/a")]
        assert shown == list(terms())
        assert tables.entries(language).count("<dd>") == len(shown)
    for term in terms().values():
        page, _, anchor = term["page"].partition("#")
        for root in ("", "zh/"):
            assert any(e.get("id") == anchor for e in site.tree(root + page).iter()), term["page"]


def links_of(element: Element) -> list[str]:
    """Return the terms that the links below an element lead to."""
    links = element.iterfind(".//a[@class='term']")
    return [str(link.get("href")).rpartition("#")[2] for link in links]


def test_pages_are_calm(site: Site) -> None:
    linking = 0
    for url in site.pages:
        article = site.tree(url).find(".//article")
        uses = Counter(links_of(article))
        assert not uses or max(uses.values()) == 1, url
        assert len(uses) <= 30, url
        assert all(len(links_of(p)) <= glossary.AT_MOST for p in article.iter("p")), url
        for name in ("h1", "h2", "h3", "pre", "table", "figcaption", "summary"):
            assert not [key for e in article.iter(name) for key in links_of(e)], (url, name)
        linking += bool(uses)
    assert linking > 40


def test_what_is_taken_along_has_the_words_alone() -> None:
    html = '<p>A <a class="term" href="g/#mask" title="t">mask</a>, <a href="b/">b</a>.</p>'
    article = LexborHTMLParser(f"<article>{html}</article>").css_first("article")
    made = twin(article, "a/index.html", {})
    assert made.markdown(lambda link: link.href).strip() == "A mask, [b](b/)."
