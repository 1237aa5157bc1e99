"""The site in a real browser, served below a sub-path: what it asks for, shows and lets one do."""

import re

import pytest
from playwright.sync_api import expect

from tests.conftest import Site
from tests.site.look import (
    DESK,
    PHONE,
    REPLACED,
    look,
    look_thoroughly,
    names_of,
    turn,
    wrong,
)

CHAPTER = "foundations/scaled-dot-product/"
TEMPLATES = ["", CHAPTER, "reference/api/foundations/scaled-dot-product/"]
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


def test_pages_made_in_their_own_way_are_right(visit, site: Site, address):
    """Every other page is a chapter or an entry of the API reference: CI looks at them too."""
    own = {url for url, file in site.pages.items() if b"data-fallback" in file.read_bytes()}
    assert len(own) > 10
    before: dict[tuple[int, str], dict[str, int]] = {}
    for url in sorted({*own, *TEMPLATES, "zh/"}):
        assert wrong(look(visit, url, *turn(url), before), site, address) == [], url


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


@pytest.fixture
def planted(site: Site, tab):
    """Serve the home page with something put into it, and without its policy."""
    html = re.sub("<meta http-equiv[^>]*>", "", site.pages[""].read_text(encoding="utf-8"))

    def plant(text: str) -> None:
        body = html.replace("<h1", f"{text}<h1", 1)
        tab.route("**/path/", lambda route: route.fulfill(body=body, content_type="text/html"))

    yield plant
    tab.unroute_all()


def test_a_right_page_has_no_fault(planted, visit, site: Site, address):
    planted("<p>right</p>")
    page = look(visit, "", DESK, "dark", {})
    assert wrong(page, site, address) == []
    page.replaced, page.width, page.shift = ["Worker"], PHONE + 1, 0.1
    scripts = sorted(site.path.rglob("*.js"))
    there = [file.relative_to(site.path).as_posix() for file in scripts] + ["llms-full.txt"]
    page.requests = ["https://example.org/x", *(address + name for name in there)]
    found = "; ".join(wrong(page, site, address))
    assert re.fullmatch(
        "Worker is replaced; asks another host: https://example.org/x; "
        r"(fetches the search index; )+is 361 pixels wide on a phone; moves by 0.1 while loading"
        r"; loads more than 184320 bytes: {.*'llms-full.txt'.*}; loads more than 10240 bytes: {.*}",
        found,
    )


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
