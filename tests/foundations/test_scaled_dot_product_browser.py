"""Symbols and lines of code in the browser: what is pointed at, focused or tapped lights both."""

import pytest
from playwright.sync_api import Page, expect

from tests.site.look import violations
from tests.site.test_browser import CHAPTER

LIT = "() => [...document.querySelectorAll('.lit')].map(e => [e.localName, e.dataset.symbol])"
BELOW = "document.querySelector('.symbols + *').offsetTop"
BOTH = [["mrow", "K"], ["mrow", "K"], ["a", "K"], ["bdi", "Q K"]]
LINE = "return query @ key.mT * scale  # … n m"
MEANINGS = {"": "K: the keys, one a row", "zh/": "K: 键，每行一个"}


OPEN = "document.querySelector('#code-Q').closest('details').open = true"  # the package's file


@pytest.fixture
def page(visit) -> Page:
    tab = visit(CHAPTER, width=1280).tab
    tab.evaluate(OPEN)
    return tab


@pytest.mark.parametrize("prefix", MEANINGS)
def test_a_symbol_lights_its_line_and_says_what_it_is(visit, prefix):
    tab = visit(prefix + CHAPTER, width=1280).tab
    below = tab.evaluate(BELOW)
    tab.locator("mrow[data-symbol=K]").last.hover()
    assert tab.evaluate(LIT) == BOTH
    assert tab.evaluate(BELOW) == below, "the page moved"
    note = tab.locator(".symbols > :last-child")
    expect(note).to_have_text(MEANINGS[prefix] + LINE)
    note.get_by_role("link").click()
    expect(tab.locator("#code-Q")).to_be_focused()
    expect(tab.locator("#code-Q")).to_be_in_viewport()


def test_a_line_lights_its_symbols(page: Page):
    page.locator("#code-Q").hover()
    assert {tuple(lit) for lit in page.evaluate(LIT)} >= {("mrow", "Q"), ("mrow", "K"), ("a", "Q")}
    shown = page.evaluate("getComputedStyle(document.querySelector('#code-Q'), '::after').content")
    assert shown == '"← Q, K"'
    page.locator("h2#the-formula").click()
    assert page.evaluate(LIT) == []


def test_by_keyboard(page: Page):
    page.locator("a[data-symbol=K]").focus()
    assert page.evaluate(LIT) == BOTH
    page.keyboard.press("Enter")
    expect(page.locator("#code-Q")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("a[data-symbol=Q]")).to_be_focused()
    page.keyboard.press("Escape")
    assert page.evaluate(LIT) == []


def test_by_touch(browser, address):
    with browser.new_context(has_touch=True, viewport={"width": 360, "height": 800}) as context:
        tab = context.new_page()
        tab.goto(address + CHAPTER)
        tab.locator("mrow[data-symbol=K]").last.tap()
        assert tab.evaluate(LIT) == BOTH
        tab.evaluate(OPEN)
        tab.locator("#code-Q").tap()
        assert len(tab.evaluate(LIT)) > len(BOTH)


def test_what_is_lit_is_copied_as_it_is(page: Page):
    page.locator("#code-Q").hover()
    block = page.locator("pre", has=page.locator("#code-Q"))
    block.locator("button[data-md-type=copy]").evaluate("button => button.click()")
    copied = page.evaluate("navigator.clipboard.readText()")
    assert f"    {LINE}\n\n\ndef _hide_later(" in copied
    assert "←" not in copied


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_contrast_of_what_is_lit(visit, scheme):
    tab = visit(CHAPTER, width=1280, scheme=scheme).tab
    tab.evaluate(OPEN)
    tab.locator("#code-Q").hover()
    within = {"include": [[".symbols"], ["#code-Q"], ["div.formula"]]}
    assert not violations(tab, within, runOnly=["color-contrast"])
