"""What stands around every chapter: the ways to it and from it, and what one does with it."""

import re
from urllib.parse import urljoin

import pytest
from playwright.sync_api import expect

from docs._tools.editions import editions
from docs._tools.page import place_of
from tests.conftest import Site
from tests.site.look import DESK, PHONE

CHAPTER = "foundations/masks/"
ROOTS = ["", "zh/"]


def classed(site: Site, url: str, name: str) -> list:
    """Return the elements of a page with a class."""
    return [e for e in site.tree(url).iter() if name in (e.get("class") or "").split()]


def said(element) -> str:
    """Return the text of an element in one line."""
    return " ".join("".join(element.itertext()).split())


@pytest.mark.parametrize("root", ROOTS)
def test_next_leads_through_all_pages_in_the_order_of_reading(site: Site, root: str):
    edition = next(edition for edition in editions() if edition.root == root)
    order = [root + f"{place_of(source).folder}/".lstrip("/") for source in edition.sources]
    assert order[2] == f"{root}foundations/query-key-value/", "the first chapter"
    for here, there in zip(order, order[1:], strict=False):
        (link,) = classed(site, here, "md-footer__link--next")
        assert urljoin(f"/{here}", link.get("href")) == f"/{there}"


@pytest.mark.parametrize("root", ROOTS)
def test_each_part_has_a_tab_and_a_path_leads_to_each_page(site: Site, root: str):
    edition = next(edition for edition in editions() if edition.root == root)
    parts = [next(iter(item)) for item in edition.config["nav"] if isinstance(item, dict)]
    for url in (root, root + CHAPTER):
        tabs = [said(tab) for tab in classed(site, url, "md-tabs__item")]
        assert tabs[:-1] == parts, "the last leads whoever has a bug"
    (here,) = classed(site, root + CHAPTER, "md-tabs__item--active")
    path = [said(item) for item in classed(site, root + CHAPTER, "md-path__item")]
    assert path == [{"": "Home", "zh/": "首页"}[root], said(here)]
    assert not classed(site, root, "md-path")


def test_whoever_has_a_bug_finds_the_way_from_every_page(site: Site):
    for url in site.pages:
        root = "zh/" if url.startswith("zh/") else ""
        for link in (item.find("a") for item in classed(site, url, "to-bugs")):
            target = urljoin(f"/{url}", link.get("href"))
            assert target == f"/{root}reading-paths/#i-have-a-bug", url
        assert len(classed(site, url, "to-bugs")) == 2, url


def test_the_way_for_bugs_shows_in_the_tabs_or_in_the_drawer(visit):
    tab = visit(CHAPTER, DESK).tab
    row, drawer = tab.locator(".md-tabs .to-bugs a"), tab.locator(".md-nav .to-bugs a")
    expect(row).to_be_in_viewport()
    expect(drawer).to_be_hidden()
    tab = visit(f"zh/{CHAPTER}", PHONE).tab
    expect(row).to_be_hidden()
    tab.locator("label[for=__drawer].md-header__button").click()
    drawer.click()
    expect(tab).to_have_url(re.compile("/zh/reading-paths/#i-have-a-bug$"))


@pytest.mark.parametrize("width", [DESK, PHONE])
def test_the_address_follows_the_reader(visit, address, width):
    tab = visit(CHAPTER, width).tab
    heading = tab.locator("article h2[id]").nth(3)
    tab.wait_for_timeout(500)  # Material takes what comes sooner for the opening of the page
    heading.evaluate("heading => heading.scrollIntoView()")
    tab.mouse.wheel(0, 200)
    expect(tab).to_have_url(f"{address}{CHAPTER}#{heading.get_attribute('id')}")
    tab.evaluate("scrollTo(0, 0)")
    expect(tab).to_have_url(address + CHAPTER)


def test_a_heading_that_one_is_led_to_lies_below_the_tabs(visit):
    tab = visit(f"{CHAPTER}#what-goes-wrong", DESK).tab
    below = tab.locator(".md-header").evaluate("header => header.getBoundingClientRect().bottom")
    top = tab.locator("#what-goes-wrong").evaluate("heading => heading.getBoundingClientRect().top")
    assert below <= top < below + 60
