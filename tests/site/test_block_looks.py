"""Around Python blocks: short titles, ticks, the package folded; in them, the wrong lines."""

import re

import pytest
from playwright.sync_api import expect
from selectolax.lexbor import LexborHTMLParser

from docs._tools import blocks
from docs._tools.block_looks import MODULE, checked, dressed
from docs._tools.signatures import WIDTH, offers
from tests.conftest import ROOT, Site
from tests.test_common_figures import CSS, contrast, rgb

WORDS = {
    "and": " and ",
    "skipped": "not run: ",
    "ran": "ran",
    "reveal": "show",
    "exhibit": "wrong",
    "wrong": "ran, wrong",
    "whole": "all",
    "checked": "with {versions}: {tests}",
}
EXAMPLE = "attn_docs/examples/foundations/masks/core.py"
BLOCK = '<div class="language-python highlight">{}<pre><span></span><code>{}\n</code></pre></div>'
FORMULA_PAGE = "foundations/scaled-dot-product/"


def block(path: str = "", code: str = "x = 1") -> str:
    return BLOCK.format(f'<span class="filename">{path}</span>' if path else "", code)


def test_a_title_is_short_and_keeps_the_path():
    tree = LexborHTMLParser(dressed(block(EXAMPLE), WORDS))
    title = tree.css_first(".filename")
    assert title.attributes["title"] == EXAMPLE
    assert title.text() == "core.py ✓"
    assert tree.css_first(".ran").attributes["aria-label"] == "ran"


def test_a_block_without_a_file_has_a_place_for_its_tick():
    assert LexborHTMLParser(dressed(block(), WORDS)).css_first(".filename").text() == " ✓"


def test_a_skipped_block_says_why():
    html = dressed(block(EXAMPLE, '<span class="c1"># skip: needs a GPU</span>'), WORDS)
    assert LexborHTMLParser(html).css_first(".ran").text() == "not run: needs a GPU"
    assert checked(html, "foundations/masks/index.md", WORDS) == html


def test_what_is_dressed_is_not_dressed_again():
    html = dressed(block() + block(EXAMPLE), WORDS)
    assert dressed(html, WORDS) == html
    page = checked(html, "foundations/masks/index.md", WORDS)
    assert page.endswith(": docs/foundations/masks/index.md</p>")
    assert checked(page, "foundations/masks/index.md", WORDS) == page


@pytest.mark.parametrize("lit", ["", '<span class="hll">'])
def test_a_wrong_line_is_marked_and_no_other(lit: str):
    line = 'a = 2  <span class="c1"># wrong: 1</span>'
    html = dressed(block(EXAMPLE, f"b = 1\n{lit}{line}\n{lit and '</span>'}c = 3"), WORDS)
    assert f'{lit}<span class="wrong">{line}</span>\n' in html
    assert html.count("wrong") == 2


def test_an_exhibit_tells_its_bug_when_asked(visit):
    tab = visit("heads/multi-head/").tab
    shown = tab.locator(".highlight:has(.reveal)").first
    code, box = shown.locator("code"), shown.locator(".reveal input")
    told = code.locator(".told")
    assert told.count() == 2
    assert not any(part.is_visible() for part in told.all())
    path = shown.locator(".filename").get_attribute("title")
    source = blocks.included_file(f'--8<-- "{path}"')[1]
    assert code.evaluate("code => code.textContent").rstrip() == source.rstrip()
    plain = code.locator(".wrong").evaluate("line => getComputedStyle(line).backgroundColor")
    box.check()
    assert all(part.is_visible() for part in told.all())
    assert code.locator(".wrong").evaluate("e => getComputedStyle(e).backgroundColor") != plain
    expect(shown.locator(".filename")).to_contain_text("Wrong on purpose")
    expect(shown.locator(".ran")).to_have_text("✗")


def test_offers_are_the_public_names_of_a_module():
    source = '''
def _hidden(): ...

def long(query: int, *, key: dict[str, int] = {"a": 1, "b": 2}, **options: int) -> int:
    """Return `it`. And more.

    Even more.
    """

class Made:
    """Made
    of two."""

    def __init__(self, size: int) -> None: ...

@dataclass
class Told:
    size: int

class Plain(Module):
    size: int
'''
    assert offers(source) == (
        ("long(query, *, key={'a': 1, 'b': 2}, **options)", "Return `it`"),
        ("Made(size)", "Made of two"),
        ("Told(size)", ""),
        ("Plain()", ""),
    )


def test_a_signature_is_one_line():
    many = ", ".join(f"argument_{i}=None" for i in range(9))
    assert len(offers(f"def f(query, *, {many}): ...")[0].signature) <= WIDTH
    assert offers(f"def f(query, *, {many})" + ": ...")[0].signature.endswith(", …)")
    assert offers(f"def f(query, *, {'a' * 80}=None): ...")[0].signature == "f(query, …)"


def test_every_included_module_is_folded_and_says_what_it_offers(site: Site):
    seen = set()
    for url, file in site.pages.items():
        tree = LexborHTMLParser(file.read_text(encoding="utf-8"))
        for title in tree.css(".filename[title]"):
            path = title.attributes["title"]
            fold = title.parent.parent
            if not MODULE.match(path):
                assert fold.tag != "details" or "package" not in fold.attributes["class"], url
                continue
            assert (fold.tag, fold.attributes["class"]) == ("details", "package"), url
            said = fold.css_first("summary").text()
            assert said.startswith(path)
            names = re.findall(r"^(?:def|class) ([a-zA-Z]\w*)", (ROOT / path).read_text(), re.M)
            assert names
            assert [name for name in names if name not in said] == [], url
            assert "open" not in fold.attributes, url
            seen.add(path)
    assert len(seen) > 15


def test_each_marked_line_of_an_exhibit_is_coloured(site: Site):
    shown = 0
    for file in site.pages.values():
        tree = LexborHTMLParser(file.read_text(encoding="utf-8"))
        for code in tree.css(".language-python code"):
            lines = [line for line in code.text().splitlines() if "  # wrong: " in line]
            assert [node.text() for node in code.css(".wrong")] == lines
            shown += len(lines)
    assert shown > 100


def test_diffs_keep_their_signs_and_are_coloured(site: Site):
    kinds = {"+": "gi", "-": "gd"}
    shown = 0
    for file in site.pages.values():
        for code in LexborHTMLParser(file.read_text(encoding="utf-8")).css(".language-diff code"):
            lines = [line for line in code.text().splitlines() if line[:1] in kinds]
            marked = code.css(".gi, .gd")
            assert [node.text() for node in marked] == lines
            assert [node.attributes["class"] for node in marked] == [kinds[t[0]] for t in lines]
            shown += len(lines)
    assert shown > 100


@pytest.mark.parametrize("palette", [0, 1], ids=["light", "dark"])
def test_code_is_read_easily_on_each_ground(palette: int):
    css = "".join(file.read_text(encoding="utf-8") for file in sorted(CSS.parent.glob("*.css")))
    found: dict[str, list[str]] = {}
    for name, colour in re.findall(r"--((?:block|md-code|md-default-fg)[\w-]*): (#\w+);", css):
        found.setdefault(name, []).append(colour)
    inks = {name for name in found if "-hl-" in name or name == "md-code-fg-color"}
    inks.add("md-default-fg-color--light")  # of comments
    assert len(inks) == 8
    low = [
        (ink, ground)
        for ink in sorted(inks)
        for ground in ("block-minus", "block-plus", "block-wrong")
        if contrast(rgb(found[ink][palette]), rgb(found[ground][palette])) < 4.5
    ]
    assert low == []


@pytest.mark.parametrize("script", [True, False])
def test_a_symbol_leads_into_a_folded_file(browser, address, script: bool):
    context = browser.new_context(java_script_enabled=script)
    tab = context.new_page()
    tab.goto(address + FORMULA_PAGE)
    fold = tab.locator("details.package")
    expect(fold).not_to_have_attribute("open", "")
    link = tab.locator(".symbols p > a").first
    line = link.get_attribute("href")
    link.click()
    expect(fold).to_have_attribute("open", "")
    expect(tab.locator(line)).to_be_in_viewport()
    tab.goto("about:blank")
    tab.goto(f"{address}{FORMULA_PAGE}{line}")
    expect(tab.locator(line)).to_be_in_viewport()
    context.close()


def test_on_paper_a_folded_file_is_named_and_stays_folded(browser, address):
    tab = browser.new_page()
    tab.goto(address + FORMULA_PAGE)
    tab.locator("details.package").evaluate("fold => fold.open = true")
    tab.emulate_media(media="print")
    expect(tab.locator(".package .file")).to_be_visible()
    expect(tab.locator(".package pre")).to_be_hidden()
    tab.close()


def test_what_is_copied_is_the_file_folded_or_wrong(visit):
    tab = visit("heads/multi-head/").tab
    tab.context.grant_permissions(["clipboard-read", "clipboard-write"])
    tab.locator(".package > summary").first.click()
    for shown in (tab.locator(".package").first, tab.locator(".highlight:has(.wrong)").first):
        shown.locator("button[data-md-type=copy]").evaluate("button => button.click()")
        path = shown.locator(".filename").get_attribute("title")
        source = blocks.included_file(f'--8<-- "{path}"')[1]
        assert tab.evaluate("navigator.clipboard.readText()").rstrip() == source.rstrip()
