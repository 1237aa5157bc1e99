"""What the tests of forms do with one: set it back, compare it as served, leave scripts out."""

from collections.abc import Iterator
from contextlib import contextmanager

from playwright.sync_api import Browser, Page


def reset(tab: Page, form: str) -> None:
    """Set a form, named by a selector, back to what it shows at first."""
    tab.evaluate(
        """selector => {
            const form = document.querySelector(selector)
            form.reset()
            form.dispatchEvent(new Event("input"))
        }""",
        form,
    )


def served_and_shown(tab: Page, selector: str) -> tuple[list[str], list[str]]:
    """Return the parts of a page as they were served, and as its scripts have left them."""
    return tuple(
        tab.evaluate(
            """async selector => {
                const html = await (await fetch(location)).text()
                const served = new DOMParser().parseFromString(html, "text/html")
                const parts = page => [...page.querySelectorAll(selector)]
                return [served, document].map(page => parts(page).map(part => part.outerHTML))
            }""",
            selector,
        )
    )


@contextmanager
def without_scripts(browser: Browser) -> Iterator[Page]:
    """Open a tab in which no script runs."""
    with browser.new_context(java_script_enabled=False) as context:
        yield context.new_page()
