"""Every page, in both palettes, on a phone and on a desk, by every rule of WCAG 2.2 AA and more."""

import pytest

from tests.conftest import Site
from tests.site.test_browser import THIN, violations

RULES = {"target-size": {"enabled": True}}  # of WCAG 2.2, and off by default


@pytest.mark.parametrize("width", [360, 1280])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_page(site: Site, visit, scheme, width):
    found = {}
    for url in site.pages:
        tab = visit(url, width, scheme).tab
        tab.evaluate(THIN if width == 360 else "0")  # words have the same colours at both widths
        found[url] = violations(tab, rules=RULES)
    assert not {url: faults for url, faults in found.items() if faults}
