"""The same sources give the same bytes; what a set address of site or repository adds is right."""

import re
from pathlib import Path
from urllib.parse import parse_qs, urlsplit
from xml.etree import ElementTree as ET

import pytest

from docs._tools import cards, generate
from tests.conftest import ROOT, Site, build_site
from tests.site.test_html import broken_links
from tests.site.test_takeaway import links, notebooks

HOME = "https://example.org/some/sub/path/"
SETTINGS = {"SITE_URL": HOME, "REPO_URL": "https://example.org/repository"}


@pytest.fixture(scope="module")
def builds(tmp_path_factory: pytest.TempPathFactory) -> list[Site]:
    """One more build as readers build, and one as published."""
    return [build_site(tmp_path_factory.mktemp("build"), **given) for given in ({}, SETTINGS)]


def contents(site: Site) -> dict[Path, bytes]:
    return {f.relative_to(site.path): f.read_bytes() for f in site.path.rglob("*") if f.is_file()}


def test_same_bytes(site: Site, builds):
    one, other = contents(site), contents(builds[0])
    assert one.keys() == other.keys()
    assert not [path for path, content in one.items() if other[path] != content]


def test_figures_are_the_same_each_time():
    assert generate.generated("FIGURES") == generate.generated("FIGURES")


def test_sitemap_names_the_translations(builds):
    entries = ET.parse(builds[1].path / "sitemap.xml").iterfind("{*}url")  # noqa: S314
    listed = {
        e.findtext("{*}loc"): {x.get("hreflang"): x.get("href") for x in e.iterfind("{*}link")}
        for e in entries
    }
    pages = builds[1].pages
    assert len(listed) == len(list(builds[1].path.rglob("index.html")))
    for url in pages:
        english = url.removeprefix("zh/")
        versions = {"en": english, "zh": f"zh/{english}"}
        wanted = {lang: HOME + version for lang, version in versions.items() if version in pages}
        assert listed[HOME + url] == wanted


def test_links_to_the_repository(site: Site, builds):
    for url in site.pages:
        assert not site.tree(url).findall(".//a[@rel='edit']"), "without REPO_URL there are none"
        (edit,) = builds[1].tree(url).findall(".//a[@rel='edit']")
        source = edit.get("href").removeprefix(f"{SETTINGS['REPO_URL']}/edit/main/")
        assert (ROOT / source).is_file(), f"{url}: {source}"
        assert source.endswith(".zh.md") == url.startswith("zh/"), f"{url}: {source}"
        links = builds[1].tree(url).findall(f".//a[@href='{SETTINGS['REPO_URL']}']")
        # a link that is a component of Material's would be answered from the repository's host
        assert [link.get("data-md-component") for link in links] == [None, None]


def test_links_below_a_sub_path(builds):
    assert not broken_links(builds[1])


def test_head_names_whole_addresses(builds):
    for url in builds[1].pages:
        told = {e.get("property"): e.get("content") for e in builds[1].tree(url).iter("meta")}
        assert told["og:url"] == HOME + url


def test_each_page_names_its_card(builds):
    shown, chapters = set(), [url for url in builds[1].pages if "reference/api/" not in url]
    for url in builds[1].pages:
        told = {e.get("property"): e.get("content") for e in builds[1].tree(url).iter("meta")}
        card = builds[1].path / told["og:image"].removeprefix(HOME)
        assert card.is_file(), f"{url}: {card}"
        assert told["og:image:alt"] == f"{told['og:title']}: {told['og:description']}", url
        if url in chapters:
            assert cards.remembered(card)["title"] == told["og:title"], url
            shown.add(card)
    assert len(shown) == len(chapters)


def test_notebooks_name_whole_addresses(builds):
    for url, notebook in notebooks(builds[1]).items():
        install, text = notebook.cells[1].source, "".join(c.source for c in notebook.cells[::2])
        wheel = re.match(f"%pip install --quiet {HOME}(.*)", install)
        assert (builds[1].path / wheel[1]).is_file(), url
        assert links(text.replace("](#", "](./#")) == [], url


def test_feedback_names_the_page(site: Site, builds):
    for url in site.pages:
        assert not site.tree(url).findall(".//a[@class='feedback']"), "without REPO_URL: none"
        (link,) = builds[1].tree(url).findall(".//a[@class='feedback']")
        address, query = urlsplit(link.get("href")), parse_qs(urlsplit(link.get("href")).query)
        assert address._replace(query="").geturl() == f"{SETTINGS['REPO_URL']}/issues/new"
        heading = "".join(builds[1].tree(url).find(".//h1").itertext()).rstrip("¶")
        assert query["title"][0].rstrip(": ：") in heading or not url.strip("zh/"), url
        source = re.search(r"docs/[\w/-]+(\.zh)?\.md", query["body"][0])
        assert (ROOT / source[0]).is_file(), f"{url}: {source[0]}"
        assert bool(source[1]) == url.startswith("zh/"), f"{url}: {source[0]}"


def test_missing_page_leads_home_from_any_depth(builds):
    text = (builds[1].path / "404.html").read_text(encoding="utf-8")
    assert f'href="{HOME}"' in text
    assert f'href="{HOME}zh/"' in text
