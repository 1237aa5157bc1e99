"""A reader whose browser prefers Chinese is offered the Chinese page, once, and nothing moves."""

from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.site.look import SHIFT, violations

OFFER = ".offer"
LANGUAGES = "Object.defineProperty(navigator, 'languages', {{ get: () => {} }})"


@pytest.fixture
def reader(browser: Browser) -> Iterator[Callable[..., Page]]:
    """Open a tab of a browser that prefers some languages."""
    contexts = []

    def opened(*languages: str, width: int = 1280) -> Page:
        contexts.append(browser.new_context(viewport={"width": width, "height": 800}))
        contexts[-1].add_init_script(LANGUAGES.format(list(languages)))
        return contexts[-1].new_page()

    yield opened
    for context in contexts:
        context.close()


def test_it_leads_to_the_same_place_and_is_not_made_again(reader, address):
    tab = reader("de", "zh-TW", "en")
    tab.goto(f"{address}foundations/masks/#empty-rows")
    tab.locator(f"{OFFER} a").click()
    expect(tab).to_have_url(f"{address}zh/foundations/masks/#empty-rows")
    expect(tab.locator(OFFER)).to_have_count(0)
    tab.goto(f"{address}foundations/masks/")
    tab.wait_for_load_state()
    expect(tab.locator(OFFER)).to_have_count(0)


@pytest.mark.parametrize("width", [1280, 360])
def test_it_moves_nothing_and_is_accessible_until_it_is_closed(reader, address, width):
    tab = reader("zh-CN", width=width)
    tab.goto(f"{address}foundations/masks/")
    offer = tab.locator(OFFER)
    expect(offer).to_be_visible()
    assert tab.evaluate(SHIFT) == 0
    assert tab.evaluate("document.documentElement.scrollWidth") <= width
    assert violations(tab, OFFER) == []
    offer.get_by_role("button", name="关闭").click()
    expect(offer).to_have_count(0)
    tab.goto(address)
    tab.wait_for_load_state()
    expect(offer).to_have_count(0)


def test_choosing_a_language_answers_it(reader, address):
    tab = reader("zh")
    tab.goto(f"{address}foundations/masks/")
    expect(tab.locator(OFFER)).to_be_visible()
    tab.locator(".md-select button").hover()
    tab.locator(".md-select a[hreflang=en]").click()
    tab.wait_for_load_state()
    expect(tab.locator(OFFER)).to_have_count(0)


@pytest.mark.parametrize(
    ("languages", "path"),
    [
        (["en-US", "zh-CN"], "foundations/masks/"),
        (["de"], "foundations/masks/"),
        (["zh-CN"], "zh/foundations/masks/"),
        (["zh-CN"], "reference/api/foundations/masks/"),
    ],
)
def test_who_does_not_need_it_is_not_asked(reader, address, languages, path):
    tab = reader(*languages)
    tab.goto(address + path)
    tab.wait_for_load_state()
    expect(tab.locator(OFFER)).to_have_count(0)
