"""The same sources give the same bytes; what a set address of site or repository adds is right."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.conftest import ROOT, Site, build_site

HOME = "https://example.org/some/sub/path/"
SETTINGS = {"SITE_URL": HOME, "REPO_URL": "https://example.org/repository"}


@pytest.fixture(scope="module")
def builds(tmp_path_factory: pytest.TempPathFactory) -> list[Site]:
    """One more build as readers build, and two as published, side by side."""
    folders = [tmp_path_factory.mktemp("build") for _ in range(3)]
    with ThreadPoolExecutor(2) as pool:
        settings = [{}, SETTINGS, SETTINGS]
        return list(pool.map(lambda folder, given: build_site(folder, **given), folders, settings))


def contents(site: Site) -> dict[Path, bytes]:
    files = [file for file in site.path.rglob("*") if file.is_file()]
    return {file.relative_to(site.path): file.read_bytes() for file in files}


def test_same_bytes(site: Site, builds):
    for one, other in [(site, builds[0]), (builds[1], builds[2])]:
        one_has, other_has = contents(one), contents(other)
        assert one_has.keys() == other_has.keys()
        assert not [path for path, content in one_has.items() if other_has[path] != content]


def test_sitemap_names_the_translations(builds):
    sitemap = ElementTree.parse(builds[1].path / "sitemap.xml")  # noqa: S314
    listed = {}
    for entry in sitemap.iterfind("{*}url"):
        links = {link.get("hreflang"): link.get("href") for link in entry.iterfind("{*}link")}
        listed[entry.findtext("{*}loc")] = links
    assert listed.keys() == {HOME + url for url in builds[1].pages}
    for address, links in listed.items():
        assert links.items() <= {"en": address.replace(f"{HOME}zh/", HOME), "zh": links.get("zh")}.items()
        assert set(links.values()) <= listed.keys()
        assert address in links.values()


def test_edit_links_lead_to_the_source(site: Site, builds):
    for url in site.pages:
        assert not site.tree(url).findall(".//a[@rel='edit']"), "without REPO_URL there are none"
        (link,) = builds[1].tree(url).findall(".//a[@rel='edit']")
        source = link.get("href").removeprefix("https://example.org/repository/edit/main/")
        assert (ROOT / source).is_file(), f"{url}: {source}"
        assert source.endswith(".zh.md") == url.startswith("zh/"), f"{url}: {source}"


def test_repository_link_asks_no_other_host(builds):
    repository = builds[1].tree("").findall(f".//a[@href='{SETTINGS['REPO_URL']}']")
    assert repository
    assert not [link for link in repository if link.get("data-md-component")]


def test_missing_page_leads_home_from_any_depth(builds):
    text = (builds[1].path / "404.html").read_text(encoding="utf-8")
    assert f'href="{HOME}"' in text
    assert f'href="{HOME}zh/"' in text
