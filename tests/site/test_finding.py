"""Readers find a page: by search, by an old link, and by what its head tells other sites of it."""

import json
import tomllib
from pathlib import Path
from types import SimpleNamespace

import pytest
from jinja2 import Environment, FileSystemLoader
from selectolax.lexbor import LexborHTMLParser

from docs._tools.built import addresses
from docs._tools.finish.policy import with_policy
from docs._tools.generate import ADDRESSES
from tests.conftest import ROOT, Site
from tests.site.test_html import CHECKS

QUERIES = tomllib.loads((ROOT / "tests/site/queries.toml").read_text(encoding="utf-8"))
EXCEPTIONS = QUERIES.pop("exceptions")
FIRST = 0.95  # of what readers type, how much must be right at the first hit
# each answer: a page, then the best sections of it
ASK = """async ([queries, address]) => {
    const field = document.querySelector(".md-search__input")
    const meta = document.querySelector(".md-search-result__meta")
    const list = document.querySelector(".md-search-result__list")
    const place = link => link.href.replace(address, "").replace(/[?][^#]*/, "")
    const answers = []
    for (const query of queries) {
        const answered = new Promise((resolve, reject) => {
            new MutationObserver(resolve).observe(meta, { childList: true })
            setTimeout(() => reject(Error(`no answer to ${query}`)), 60_000)
        })
        field.value = query
        field.focus()
        field.dispatchEvent(new KeyboardEvent("keyup"))
        await answered
        answers.push([...list.children].slice(0, 3)
            .map(item => [...item.querySelectorAll("a")].slice(0, 3).map(place)))
    }
    return answers
}"""


def right(wanted: str | list[str], answers: list[list[str]]) -> bool:
    """Tell whether the first answer is what a query wants, or nothing where it wants nothing."""
    places = [wanted] if isinstance(wanted, str) else wanted
    if not places or not answers:
        return not places and not answers
    shown = [answers[0][0].partition("#")[0], *answers[0]]
    return any(place in shown and place.partition("#")[0] == shown[0] for place in places)


def test_only_what_is_wanted_is_right():
    answers = [["masks/#a", "masks/", "masks/#b"], ["other/"]]
    assert all(right(place, answers) for place in ("masks/", "masks/#b", ["x/", "masks/#a"]))
    assert not any(right(place, answers) for place in ("other/", "masks/#c", "", []))
    assert right([], [])
    assert not right("masks/", [])


@pytest.mark.parametrize("language", QUERIES)
def test_search_finds_it_first(visit, address, language):
    queries = QUERIES[language]
    excepted = EXCEPTIONS.keys() & queries
    assert len(queries) >= 140
    assert len(excepted) <= (1 - FIRST) * len(queries)
    page = visit("zh/" if language == "zh" else "", width=1280)
    answers = page.tab.evaluate(ASK, [list(queries), address])
    missed = {
        query: {"wanted": wanted, "first": answer[:1]}
        for (query, wanted), answer in zip(queries.items(), answers, strict=True)
        if query not in excepted and not right(wanted, answer)
    }
    assert not missed
    assert not page.complaints


def test_exceptions_are_queries():
    assert EXCEPTIONS.keys() <= {query for queries in QUERIES.values() for query in queries}


def test_every_address_is_forever(site: Site):
    listed, there = set(ADDRESSES.read_text(encoding="utf-8").split()), addresses(site.path)
    assert sorted(listed - there) == [], "gone: CONTRIBUTING.md says how to leave a redirect"
    assert sorted(there - listed) == [], "not in tests/site/addresses.txt: run `make outputs`"


def test_a_redirect_keeps_the_addresses_of_its_page(tmp_path: Path):
    environment = Environment(loader=FileSystemLoader(ROOT / "docs/_theme"), autoescape=True)
    environment.filters["url"] = lambda url: f"../{url}"
    theme = SimpleNamespace(language="en")
    config = SimpleNamespace(site_name="n", theme=theme, use_directory_urls=True)
    page = SimpleNamespace(meta={"redirect": "new/#a", "description": "moved"})
    html = environment.get_template("redirect.html").render(config=config, page=page)
    html = with_policy(html, LexborHTMLParser(html), "old", stated=True)
    assert not [problem for check in CHECKS for problem in check(html)]
    for place, text in {"new": "<h1 id=a></h1><a id=b></a><p id=c></p>", "old": html}.items():
        (tmp_path / place).mkdir()
        (tmp_path / place / "index.html").write_text(f"<!doctype html>{text}", encoding="utf-8")
    assert addresses(tmp_path) == {f"/{p}/{a}" for p in ("old", "new") for a in ("", "#a", "#b")}


def test_each_title_says_what_its_page_is_about(site: Site):
    titles = {url: "".join(site.tree(url).find(".//title").itertext()) for url in site.pages}
    assert not [title for title in titles.values() if title.startswith("attn-docs")]
    for url, listed in (("", "Home"), ("zh/", "首页")):
        heading = "".join(site.tree(url).find(".//h1").itertext()).removesuffix("¶")
        assert titles[url] == f"{heading} - attn-docs"
        first = site.tree(url).find(".//nav[@class='md-nav md-nav--primary md-nav--lifted']//li/a")
        assert " ".join("".join(first.itertext()).split()) == listed


def test_head_tells_other_sites_of_the_page(site: Site):
    for url in site.pages:
        tree = site.tree(url)
        told = {e.get("property") or e.get("name"): e.get("content") for e in tree.iter("meta")}
        assert "og:url" not in told, "an address that nobody knows"
        assert told["og:description"] == told["description"], url
        assert told["og:title"] in "".join(tree.find(".//title").itertext()), url
        chinese = url.startswith("zh/")
        assert told["og:locale"] == ("zh_CN" if chinese else "en_US"), url
        (data,) = (e.text for e in tree.iter("script") if e.get("type") == "application/ld+json")
        about = json.loads(data)
        assert about["name"] == told["og:title"], url
        assert about["description"] == told["description"], url
        assert about["inLanguage"] == tree.get("lang"), url
