"""The site in a real browser, served below a sub-path: what it asks for, shows and lets one do."""

import gzip
import re
from types import SimpleNamespace
from urllib.parse import unquote, urlsplit

import pytest
from playwright.sync_api import expect

from tests.conftest import ROOT, SUB_PATH, Site
from tests.site.look import (
    DESK,
    LOOKS,
    PHONE,
    REPLACED,
    look,
    look_thoroughly,
    names_of,
    turn,
)

CHAPTER = "foundations/scaled-dot-product/"
TEMPLATES = ["", CHAPTER, "reference/api/foundations/scaled-dot-product/"]
FIRST_VIEW = 180 * 1024
SCRIPTS = {file.name for file in (ROOT / "docs").rglob("*.js")}  # our own
PLANTED = """<script>planted = 1</script><script src="https://example.org/x.js"></script>
<img src="https://example.org/x.png" alt=""><style>#planted { rotate: 9deg !important }</style>
<p id="planted" style="rotate: 9deg" onclick="planted = 1"><a href="javascript:planted = 1">a</a>
"""

FAULTS = """<style>
    .pale { color: #bbb; background: #fff } .wide { width: 700px } .late { height: 1px }
</style>
<div class="late"></div><p class="wide">wide</p><p>a</p><p>b</p><p>c</p><p class="pale">pale</p>
<img src="https://example.org/x.png"><a href="."></a><button></button>
<script>
    onload = () => requestAnimationFrame(() => requestAnimationFrame(() => {
        document.querySelector(".late").style.height = "300px"
    }))
    throw "planted"
</script>"""
SEEN = {
    "color-contrast": 'class="pale"',
    "image-alt": "example.org",
    "link-name": '<a href="."',
    "button-name": "<button>",
}


@pytest.fixture(scope="module")
def visits(site: Site, visit) -> dict[str, SimpleNamespace]:
    """Every page in the look that is its turn, with what there is to say of it."""
    before: dict[tuple[int, str], dict[str, int]] = {}
    return {url: look(visit, url, *turn(url), before) for url in site.pages}


def test_every_look_has_its_turn(site: Site):
    assert {turn(url) for url in site.pages} == set(LOOKS)


def test_nothing_fails_and_nobody_else_is_asked(visits, address):
    for url, page in visits.items():
        assert not page.complaints, url
        foreign = [r for r in page.requests if not r.startswith((address, "data:", "blob:"))]
        assert not foreign, url


def test_search_index_is_fetched_by_no_page(visits):
    for url, page in visits.items():
        assert not [request for request in page.requests if SUB_PATH + "search/" in request], url


def test_first_view_fits_its_budget(visits, site: Site):
    for url, page in visits.items():
        paths = {unquote(urlsplit(r).path).removeprefix(SUB_PATH) for r in page.requests}
        files = [site.path / (p + "index.html" if p.endswith("/") or not p else p) for p in paths]
        sizes = {file: len(gzip.compress(file.read_bytes())) for file in files}
        assert sum(sizes.values()) <= FIRST_VIEW, f"{url or 'home'}: {sizes}"
        assert sum(sizes[f] for f in files if f.name in SCRIPTS) <= 10 * 1024, f"{url}: {sizes}"


def test_nothing_of_the_browser_is_replaced(visits):
    assert not {url: page.replaced for url, page in visits.items() if page.replaced}


def test_a_replacement_is_seen(tab):
    tab.goto("about:blank")
    names = names_of(tab)
    assert {"Worker", "Element", "XMLHttpRequest"} <= {*names}
    assert tab.evaluate(REPLACED, names) == []
    tab.evaluate("""() => {
        window.Worker = class extends Worker {}
        XMLHttpRequest.prototype.send = () => {}
        Object.defineProperty(Element.prototype, "id", { get: () => "" })
        document.head.appendChild = document.head.appendChild.bind(document.head)
        document.write = () => {}
    }""")
    wrong = {"Element.prototype.id", "Worker", "XMLHttpRequest.prototype.send"}
    assert wrong | {"document.write", "head.appendChild"} <= set(tab.evaluate(REPLACED, names))


def test_no_page_scrolls_sideways_on_a_phone(visits):
    assert not {url: page.width for url, page in visits.items() if page.width > PHONE}


def test_nothing_moves_while_loading(visits):
    assert not {url: page.shift for url, page in visits.items() if page.shift}


def test_accessibility(visits):
    assert not {url: page.violations for url, page in visits.items() if page.violations}


@pytest.fixture
def planted(site: Site, tab):
    """Serve the home page with something put into it, and without its policy."""
    html = re.sub("<meta http-equiv[^>]*>", "", site.pages[""].read_text(encoding="utf-8"))

    def plant(text: str) -> None:
        body = html.replace("<h1", f"{text}<h1", 1)
        tab.route("**/path/", lambda route: route.fulfill(body=body, content_type="text/html"))

    yield plant
    tab.unroute_all()


def test_a_right_page_has_no_fault(planted, visit):
    planted("<p>right</p>")
    page = look(visit, "", DESK, "dark", {})
    assert not page.violations + page.complaints
    assert page.shift == 0
    assert page.width == PHONE


@pytest.mark.parametrize(("looker", "width"), [(look, DESK), (look_thoroughly, PHONE)])
def test_faults_are_seen(planted, visit, looker, width):
    planted(FAULTS)
    page = looker(visit, "", width, "dark", {})
    found = "\n".join(page.violations)
    for rule, what in SEEN.items():
        assert re.search(f"^{rule}: .*{what}", found, re.M), rule
    assert "https://example.org/x.png" in page.requests
    assert "https://example.org/x.png" in page.complaints
    assert "error: planted" in page.complaints
    assert page.shift > 0
    assert page.width > PHONE


def test_everything_shows_without_javascript(browser, address):
    with browser.new_context(java_script_enabled=False) as context:
        tab = context.new_page()
        for url in (CHAPTER, f"zh/{CHAPTER}"):
            tab.goto(address + url)
            for shown in ("h1", "article p", "div.formula math", "pre > code", "svg.figure"):
                expect(tab.locator(shown).first, url).to_be_visible()
            formula = tab.locator("div.formula mfrac").first.bounding_box()
            assert formula is not None
            assert formula["height"] > 20, "the fraction is not stacked"


def test_copy_button_gives_the_text_of_every_block(visit, site: Site):
    tab = visit(CHAPTER, width=1280).tab
    texts = ["".join(pre.itertext()) for pre in site.tree(CHAPTER).iter("pre")]
    for block, text in zip(tab.locator("pre").all(), texts, strict=True):
        block.evaluate("pre => pre.closest('details')?.setAttribute('open', '')")
        block.locator("button[data-md-type=copy]").evaluate("button => button.click()")
        assert tab.evaluate("navigator.clipboard.readText()") == text.rstrip()


@pytest.mark.parametrize("url", ["", "zh/"])
def test_a_console_is_copied_without_prompts_comments_and_output(visit, url):
    tab = visit(url, width=1280).tab
    block = tab.locator(".language-console")
    said = "code => code.insertAdjacentHTML('beforeend', '<span class=go>said</span>\\n')"
    block.locator("code").evaluate(said)
    block.locator("button[data-md-type=copy]").click()
    lines = tab.evaluate("navigator.clipboard.readText()").splitlines()
    commands = ["make serve", "make test"]
    assert [line.rstrip() for line in lines] == commands
    expect(block.locator(".gp").first).to_be_visible()


@pytest.mark.parametrize(
    ("url", "language", "target"),
    [
        ("", "zh", "zh/"),
        ("zh/", "en", ""),
        (CHAPTER, "zh", f"zh/{CHAPTER}"),
        (f"zh/{CHAPTER}", "en", CHAPTER),
        (TEMPLATES[2], "zh", "zh/reference/api/"),  # the API reference is in English alone
    ],
)
def test_language_switch_stays_on_the_page(visit, address, url, language, target):
    tab = visit(url, width=1280).tab
    tab.locator(".md-header .md-select button").hover()
    tab.locator(f".md-select a[hreflang={language}]").click()
    expect(tab).to_have_url(address + target)


@pytest.mark.parametrize(("root", "language", "other"), [("", "zh", "zh/"), ("zh/", "en", "")])
@pytest.mark.parametrize("width", [DESK, PHONE])
def test_language_switch_keeps_the_place(visit, address, root, language, other, width):
    tab = visit(root + CHAPTER, width).tab

    def switched(to: str) -> None:
        tab.locator(".md-header .md-select button").focus()
        tab.locator(f".md-select a[hreflang={to}]").press("Enter")

    name = "why-divide-by-d"  # its text is longer than a turn of the wheel
    tab.locator(f"#{name}").evaluate("heading => heading.scrollIntoView()")
    tab.mouse.wheel(0, 150)  # below it, in its text
    switched(language)
    expect(tab).to_have_url(f"{address}{other}{CHAPTER}#{name}")
    expect(tab.locator(f"#{name}")).to_be_in_viewport()
    tab.evaluate("scrollTo(0, 0)")
    switched("zh" if root else "en")
    expect(tab).to_have_url(address + root + CHAPTER)  # from the top to the top


def test_palette_can_be_changed(visit):
    tab = visit("", width=1280).tab
    found = [tab.locator("body").get_attribute("data-md-color-scheme")]
    for _ in range(2):
        tab.locator(".palette label:visible").click()
        found.append(tab.locator("body").get_attribute("data-md-color-scheme"))
    tab.evaluate("localStorage.clear()")
    assert found == ["default", "default", "slate"]  # automatic, light, dark


def test_palette_stays_chosen(visit):
    tab = visit("", width=1280).tab
    body, bar = tab.locator("body"), tab.locator("meta[name=theme-color]")
    light = bar.get_attribute("content")
    for _ in range(2):
        tab.locator(".palette label:visible").click()
    assert bar.get_attribute("content") != light, "the bar that a phone shows above the page"
    assert tab.evaluate("getComputedStyle(document.documentElement).colorScheme") == "dark"
    visit(CHAPTER)
    expect(body).to_have_attribute("data-md-color-scheme", "slate")
    tab.locator(".palette input").last.press("Enter")  # the next of three: automatic again
    expect(body).to_have_attribute("data-md-color-scheme", "default")
    tab.emulate_media(color_scheme="dark")
    expect(body).to_have_attribute("data-md-color-scheme", "slate")
    expect(tab.locator(".palette label:visible")).to_have_count(1)
    expect(body).not_to_have_attribute("data-md-color-switching", "")
    tab.evaluate("localStorage.clear()")


def test_long_docstrings_unfold(visit):
    tab = visit(CHAPTER, width=1280).tab
    tab.locator("details:has(.fold)").first.evaluate("file => file.open = true")
    fold, docstring = tab.locator(".fold").first, tab.locator(".docstring").first
    expect(docstring).to_be_hidden()
    fold.click()
    expect(docstring).to_be_visible()
    fold.click()
    expect(docstring).to_be_hidden()


def test_policy_blocks_what_is_planted(visit, site: Site):
    html = site.pages[""].read_text(encoding="utf-8").replace("<h1", f"{PLANTED}<h1", 1)
    tab = visit("").tab
    tab.route("**/path/", lambda route: route.fulfill(body=html, content_type="text/html"))
    page = visit("")
    tab.locator("#planted").click()
    tab.locator("#planted a").click()
    tab.unroute_all()
    assert tab.evaluate("typeof planted") == "object", "the paragraph, set by no script"
    assert tab.evaluate("getComputedStyle(planted).rotate") == "none"
    blocked = [text for text in page.complaints if "Content Security Policy" in text]
    assert len(blocked) == 7, blocked
