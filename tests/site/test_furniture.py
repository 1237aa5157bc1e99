"""What stands around every chapter: the ways to it and from it, and what one does with it."""

import re
from itertools import pairwise
from urllib.parse import urljoin

import pytest
from playwright.sync_api import expect

from docs._tools.editions import editions
from docs._tools.finish.state import CHANGES, day
from docs._tools.page import place_of
from tests.conftest import Site
from tests.site.look import DESK, DRAWN, PHONE, violations

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
    chapters = [f"{root}{source}" for source in ("foundations/", "self-attention/", "heads/")]
    first = next(page for page in order if page.startswith(tuple(chapters)))
    assert first == f"{root}foundations/query-key-value/", "the first chapter"
    for here, there in pairwise(order):
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


@pytest.mark.parametrize("root", ROOTS)
def test_one_button_copies_the_page_as_markdown(visit, site: Site, root: str):
    tab = visit(root + CHAPTER, DESK).tab
    button, status = tab.locator(".takeaway button"), tab.locator(".takeaway [role=status]")
    button.click()
    expect(status).to_have_text({"": "Copied", "zh/": "已复制"}[root])
    text = (site.path / root / CHAPTER / "index.md").read_text(encoding="utf-8")
    assert tab.evaluate("navigator.clipboard.readText()") == text


def test_where_the_markdown_cannot_be_read_the_button_is_the_link(visit):
    tab = visit(CHAPTER, DESK).tab
    tab.route("**/index.md", lambda route: route.abort())
    tab.evaluate("""() => document.querySelector(".takeaway a[download$=md]").onclick = event => {
        event.preventDefault()
        document.title = "led"
    }""")
    tab.locator(".takeaway button").click()
    expect(tab).to_have_title("led")
    tab.unroute_all()
    expect(tab.locator(".takeaway [role=status]")).to_be_empty()


def test_without_javascript_links_and_the_line_that_installs_are_there(browser, address):
    with browser.new_context(java_script_enabled=False) as context:
        tab = context.new_page()
        tab.goto(address + CHAPTER)
        expect(tab.locator(".takeaway a")).to_have_count(3)
        expect(tab.locator("button:is(.takeaway *, .install *)").first).to_be_hidden()
        line = tab.locator(".install code").first
        expect(line).to_be_hidden()
        tab.locator(".install summary").click()
        expect(line).to_be_visible()


def test_the_foot_of_each_page_says_which_state_it_is_of(site: Site, monkeypatch):
    (wheel,) = site.path.glob("*.whl")
    for url in site.pages:
        (foot,) = classed(site, url, "md-copyright")
        version, date, changes = said(foot).split(" · ")
        assert version == f"attn_docs {wheel.name.split('-')[1]}", url
        assert date == "2025-06-15", "tests/conftest.py sets SOURCE_DATE_EPOCH"
        assert changes == ("更新记录" if url.startswith("zh/") else "What changed")
    monkeypatch.delenv("SOURCE_DATE_EPOCH", raising=False)
    assert day() == max(re.findall(r"^date = (\S+)$", CHANGES.read_text("utf-8"), re.M))


@pytest.mark.parametrize(("width", "scheme"), [(DESK, "light"), (PHONE, "dark")])
def test_a_figure_opens_as_large_as_the_screen(visit, width: int, scheme: str):
    tab = visit(CHAPTER, width, scheme).tab
    figure = tab.locator("figure:has(> .enlarge)").nth(1)
    svg, button = figure.locator("> svg"), figure.locator("> .enlarge")
    dialog, large = tab.locator("dialog.enlarged"), tab.locator("dialog.enlarged > svg")
    title = svg.locator("title").text_content()
    expect(button).to_have_accessible_name(f"Enlarge: {title}")
    before = svg.evaluate("svg => svg.getBoundingClientRect().width")
    height = tab.evaluate("document.body.scrollHeight")
    for start, end in (
        (svg.click, lambda: tab.keyboard.press("Escape")),
        (lambda: button.press("Enter"), large.click),
    ):
        start()
        expect(dialog).to_be_visible()
        expect(dialog).to_have_accessible_name(title)
        assert large.evaluate("svg => svg.getBoundingClientRect().width") > 1.5 * before
        names = tab.evaluate("[...document.querySelectorAll('[id]')].map(e => e.id)")
        assert len(names) == len(set(names))
        assert tab.evaluate("document.body.scrollHeight") == height
        assert not violations(tab, "dialog.enlarged", rules=DRAWN)
        end()
        expect(dialog).to_be_hidden()
        expect(button).to_be_focused()
        expect(svg).to_be_visible()


def test_every_figure_but_those_of_links_opens_large(visit):
    for url in ("", "memory/kv-memory/"):
        tab = visit(url, DESK).tab
        figures = tab.locator("figure:has(> svg.figure:not(:has(a)))")
        expect(figures.locator("> .enlarge")).to_have_count(figures.count())


SIGNS = """() => {
    const boxes = document.querySelectorAll(".md-typeset__scrollwrap, pre > code, div.formula")
    const drawn = box => getComputedStyle(box).backgroundImage !== "none"
    return [...boxes].filter(box => box.checkVisibility())
        .map(box => [box.scrollWidth > box.clientWidth, drawn(box)])
}"""


@pytest.mark.parametrize("url", ["memory/kv-memory/", "zh/heads/latent/"])
def test_what_is_cut_at_a_side_says_so(visit, url: str):
    found = visit(url).tab.evaluate(SIGNS)
    assert {True, False} == {cut for cut, _ in found}
    assert all(cut == sign for cut, sign in found)


def test_the_first_column_of_a_wide_table_stays_and_keeps_short_names_whole(visit):
    tab = visit("memory/kv-memory/").tab
    box = tab.locator(".md-typeset__scrollwrap[tabindex]:has(tr > :nth-child(7))").first
    name, other = box.locator("td.short").first, box.locator("td:nth-child(2)").first
    places = [(name.bounding_box(), other.bounding_box())]
    box.evaluate("box => box.scrollLeft = 150")
    places.append((name.bounding_box(), other.bounding_box()))
    assert places[0][1]["x"] - places[1][1]["x"] == pytest.approx(150, abs=1)
    assert 0 <= places[1][0]["x"] <= places[0][0]["x"]
    assert name.locator("a").evaluate("link => link.getClientRects().length") == 1, "on one line"


def test_print_is_ink_for_the_text_alone(visit):
    tab = visit(CHAPTER, DESK, "dark").tab
    pages = len(re.findall(rb"/Type\s*/Page\b", tab.pdf(format="A4")))
    assert 5 < pages <= 30, "thirty-three, once"
    tab.emulate_media(media="print")
    hidden = ".docstring, .takeaway, .install, .page-end, .md-path, .enlarge, .md-tabs, .md-header"
    for part in tab.locator(f":is({hidden})").all():
        expect(part).to_be_hidden()
    source = tab.locator("#sources ~ ul a[href^=http]").first
    after = source.evaluate("link => getComputedStyle(link, '::after').content")
    assert str(source.get_attribute("href")) in after
    tab.emulate_media(media="screen")


def test_only_pages_with_entries_of_the_reference_load_their_styles(site: Site):
    for url, file in site.pages.items():
        html = file.read_text(encoding="utf-8")
        assert ("_mkdocstrings.css" in html) == bool(classed(site, url, "doc")), url
