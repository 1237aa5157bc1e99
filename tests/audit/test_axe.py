"""Every page, in both palettes, on a phone and on a desk, by every rule of WCAG 2.2 AA and more."""

import pytest

from tests.conftest import Site
from tests.site.look import LOOKS, look


@pytest.mark.complete
@pytest.mark.parametrize(("width", "scheme"), LOOKS)
def test_every_page(site: Site, visit, width, scheme):
    found = {}
    for url in site.pages:
        page = look(visit, url, width, scheme, thoroughly=True)
        moved = [f"moves by {page.shift} while loading"] if page.shift else []
        found[url] = page.violations + page.complaints + moved
    assert not {url: faults for url, faults in found.items() if faults}
