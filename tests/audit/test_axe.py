"""Every page, in both palettes, on a phone and on a desk, by every rule of WCAG 2.2 AA and more."""

import pytest

from tests.conftest import Site
from tests.site.look import LOOKS, look_thoroughly


@pytest.mark.complete
@pytest.mark.parametrize(("width", "scheme"), LOOKS)
def test_every_page(site: Site, visit, width, scheme):
    found = {}
    for url in site.pages:
        page = look_thoroughly(visit, url, width, scheme)
        found[url] = page.violations + page.complaints
        if page.shift or page.width > width:
            found[url].append(f"moves by {page.shift} while loading, is {page.width} pixels wide")
    assert not {url: faults for url, faults in found.items() if faults}
