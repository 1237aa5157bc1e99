"""Every page by every rule of WCAG 2.2 AA and more.

Whether a page is light or dark matters to its contrast alone, how wide it is to all the rest.
"""

import pytest

from tests.conftest import Site
from tests.site.test_browser import CONTRAST, REST, THIN, violations

ON = [(1280, "light", {}), (1280, "dark", {"runOnly": CONTRAST}), (360, "light", {"rules": REST})]


@pytest.mark.parametrize(("width", "scheme", "options"), ON)
def test_every_page(site: Site, visit, width, scheme, options):
    found = {}
    for url in site.pages:
        tab = visit(url, width, scheme).tab
        tab.evaluate(THIN)
        found[url] = violations(tab, **options)
    assert not {url: faults for url, faults in found.items() if faults}
