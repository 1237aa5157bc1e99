"""Every page, in both palettes, on a phone and on a desk, by every rule of WCAG 2.2 AA and more."""

import pytest

from tests.conftest import Site
from tests.site.test_browser import THIN, violations


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 360])
def test_every_page(site: Site, visit, scheme, width):
    found = {}
    for url in site.pages:
        tab = visit(url, width, scheme).tab
        tab.evaluate(THIN)
        # a rule of WCAG 2.2, and off by default
        found[url] = violations(tab, rules={"target-size": {"enabled": True}})
    assert not {url: faults for url, faults in found.items() if faults}
