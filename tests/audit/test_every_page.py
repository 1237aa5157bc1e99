"""Every page in the browser: by every rule of WCAG 2.2 AA and more, on a phone and on a desk."""

import pytest

from tests.conftest import Site
from tests.site.look import LOOKS, look, look_thoroughly, turn, wrong


def test_every_look_has_its_turn(site: Site):
    assert {turn(url) for url in site.pages} == set(LOOKS)


@pytest.mark.parametrize(("width", "scheme"), LOOKS)
def test_every_page_in_its_turn(site: Site, visit, address, width, scheme):
    before: dict[tuple[int, str], dict[str, int]] = {}
    found = {
        url: wrong(look(visit, url, width, scheme, before), site, address)
        for url in site.pages
        if turn(url) == (width, scheme)
    }
    assert not {url: faults for url, faults in found.items() if faults}


@pytest.mark.complete
@pytest.mark.parametrize(("width", "scheme"), LOOKS)
def test_every_page_in_every_look(site: Site, visit, width, scheme):
    found = {}
    for url in site.pages:
        page = look_thoroughly(visit, url, width, scheme)
        found[url] = page.violations + page.complaints
        if page.shift or page.width > width:
            found[url].append(f"moves by {page.shift} while loading, is {page.width} pixels wide")
    assert not {url: faults for url, faults in found.items() if faults}
