"""The settings of the explorers stand in their addresses, and what the pages propose is so."""

import re

import pytest
import torch
from playwright.sync_api import expect

from docs._tools.page import page_module
from tests.conftest import ROOT, Site

PAGES = ("masks", "softmax", "kv-memory")
FORM = "form[data-settings]"
VALUES = """form => Object.fromEntries([...form.elements].filter(field => field.name)
    .map(field => [field.name, field.type === "checkbox" ? field.checked : field.value]))"""
# of each page: settings that are allowed, those of them that are not the page's own
ALLOWED = {
    "masks": ("n=2&m=5&causal-by=last&padding=1", {"n": "2", "causal-by": "last", "padding": True}),
    "softmax": ("power=9&scale=0", {"power": "9", "scale": False}),
    "kv-memory": ("model=GPT-2+124M&batch=3", {"model": "GPT-2 124M", "batch": "3"}),
}
WRONG = {
    "masks": ("n=99&m=&causal=yes&window=2&window-by=x&unknown=1", "n=0", "%00=%ff&n=%"),
    "softmax": ("power=11&temperature=0.3&scale=on", "power=1e999", "power=-1&temperature=<b>"),
    "kv-memory": ("model=nobody&context=-1&batch=1.5", "memory=many&itemsize=3", "batch=1e9"),
}


def states(page: str, language: str) -> list[list[str]]:
    """Return the rows of the table that the page shows without JavaScript."""
    lines = page_module(f"explore/{page}", "tables").states(language).splitlines()[2:]
    return [[c.strip() for c in line.strip("|").split("|")] for line in lines if line[:1] == "|"]


# both languages run the same script: they take turns
in_turn = pytest.mark.parametrize(
    ("page", "root"), [("masks", "zh/"), ("softmax", ""), ("kv-memory", "zh/")]
)


@in_turn
def test_an_address_brings_its_settings_back(visit, root, page) -> None:
    query, wanted = ALLOWED[page]
    opened = visit(f"{root}explore/{page}/")
    own = opened.tab.locator(FORM).evaluate(VALUES)
    opened = visit(f"{root}explore/{page}/?{query}")
    assert opened.tab.locator(FORM).evaluate(VALUES) == own | wanted != own
    assert not opened.complaints


@pytest.mark.parametrize("page", PAGES)
def test_settings_that_are_not_allowed_are_ignored(visit, page) -> None:
    shown = "document.querySelector('form[data-settings]').innerHTML"
    opened = visit(f"explore/{page}/")
    own = opened.tab.locator(FORM).evaluate(VALUES)
    html = opened.tab.evaluate(shown)
    for query in WRONG[page]:
        opened = visit(f"explore/{page}/?{query}")
        assert opened.tab.locator(FORM).evaluate(VALUES) == own, query
        assert opened.tab.evaluate(shown) == html, query
        assert not opened.complaints


def test_what_is_set_is_in_the_address_until_it_is_the_pages_own(visit, address) -> None:
    url = "explore/softmax/"
    tab = visit(url).tab
    tab.locator("[name=power]").focus()
    tab.keyboard.press("ArrowRight")
    tab.locator("[name=scale]").uncheck()
    expect(tab).to_have_url(f"{address}{url}?power=7&scale=0")
    tab.reload()
    expect(tab.locator("[data-of=power]")).to_have_text("128")
    tab.goto(address)
    tab.go_back()
    expect(tab.locator("[data-of=power]")).to_have_text("128")
    expect(tab.locator("[name=scale]")).not_to_be_checked()
    tab.locator("[name=scale]").check()
    tab.locator("[name=power]").focus()
    tab.keyboard.press("ArrowLeft")
    expect(tab).to_have_url(address + url)
    tab.go_back()
    assert not tab.url.startswith(address + url), "what is set leaves no way back of its own"


def test_a_number_that_is_wrong_does_not_get_into_the_address(visit, address) -> None:
    tab = visit("explore/kv-memory/").tab
    for number, query in (("12", "?batch=12"), ("-3", ""), ("4", "?batch=4")):
        tab.locator("[name=batch]").fill(number)
        tab.locator("[name=batch]").press("Tab")
        expect(tab).to_have_url(f"{address}explore/kv-memory/{query}")


@in_turn
def test_a_proposal_is_set_by_its_link_and_undone_by_the_way_back(visit, root, page) -> None:
    opened = visit(f"{root}explore/{page}/")
    tab, form = opened.tab, opened.tab.locator(FORM)
    links = tab.locator('article a[href^="?"]')
    assert links.count() >= 3
    seen = [form.evaluate(VALUES)]
    for link in links.all():
        link.click()
        assert tab.url.endswith(link.get_attribute("href"))
        expect(form).to_be_in_viewport()
        seen.append(form.evaluate(VALUES))
        assert seen[-1] not in seen[:-1]
    for values in reversed(seen[:-1]):
        tab.go_back()
        assert form.evaluate(VALUES) == values
    assert not opened.complaints
    hrefs = [link.get_attribute("href") for link in links.all()]
    for href, values in zip(hrefs, seen[1:], strict=True):  # as a link from elsewhere
        assert visit(f"{root}explore/{page}/{href}").tab.locator(FORM).evaluate(VALUES) == values


def opened_by(visit, page: str) -> list:
    """Return a function of each proposal that opens it."""
    tab = visit(f"explore/{page}/").tab
    hrefs = [a.get_attribute("href") for a in tab.locator('article a[href^="?"]').all()]
    return [lambda href=href: visit(f"explore/{page}/{href}").tab for href in hrefs]


def test_what_the_masks_page_proposes_is_so(visit) -> None:
    window, two, lower, empty = opened_by(visit, "masks")
    tables = page_module("explore/masks", "tables")
    rows = dict(zip(tables.STATES, states("masks", "en"), strict=True))
    for tab, row in ((window, "window"), (lower, "decode"), (empty, "empty")):
        code = tab().locator("[data-of=code]").text_content()
        assert code.partition("mask = ")[2] == rows[row][1].strip("`")
    for row, (line, mask) in tables.STATES.items():
        assert torch.equal(eval(line), mask), row  # noqa: S307 - what the page offers to copy
    assert rows["window"][2] == ", ".join("1" * 5)
    expect(two().locator("[data-of=is-causal]")).to_be_visible()
    expect(two().locator(".mask tbody tr").first.locator(".may")).to_have_count(1)
    expect(lower().locator("[data-of=is-causal]")).to_be_hidden()
    assert len([row for row in empty().locator(".mask tbody tr").all()
                if not row.locator(".may").count()]) == 2  # fmt: skip


def test_what_the_softmax_page_proposes_is_so(visit) -> None:
    tables = page_module("explore/softmax", "tables")
    found = []
    for tab in opened_by(visit, "softmax"):
        texts = tab().locator(".weights td:last-child").all_text_contents()
        gradient = float(tab().locator("[data-of=gradient]").text_content())
        found.append((max(float(text) for text in texts), gradient, texts))
    one, divided, lucky, heated, cold = found
    assert one[0] > 0.999
    assert one[1] < 1e-9
    assert divided[1] > 0.3 < lucky[1]
    assert heated == cold
    rows = states("softmax", "en")
    shown = [f"{largest:.3f}" for largest, _, _ in (one, lucky, heated, cold)]
    assert [row[3] for row in rows[1:]] == shown
    assert len(rows) == len(tables.STATES)


def test_what_the_calculators_page_proposes_is_so(visit) -> None:
    rows = states("kv-memory", "en")
    for tab, row in zip(opened_by(visit, "kv-memory"), rows[1:], strict=True):
        page = tab()
        cache, more, weights = (
            page.locator(f"data[data-of={name}]").text_content()
            for name in ("cache", "more", "weights")
        )
        assert [re.split(r" ?[(（]", cache)[0], more, weights] == row[3:], row
        assert page.locator("[name=model]").input_value() == row[0]
    gib = [[float(re.match(r"[\d.]+", cell)[0]) for cell in (row[3], row[5])] for row in rows]
    assert gib[1][0] == 8 * gib[0][0] > 3 * gib[1][1] == 3 * gib[0][1]
    assert gib[2][0] < gib[0][0]
    assert gib[2][1] > 10 * gib[0][1]


def test_a_phone_shows_the_mask_while_any_option_is_set(visit) -> None:
    tab = visit("zh/explore/masks/?n=8&m=8", width=360).tab
    for name in ("n", "causal", "window", "prefix", "padding"):
        field = tab.locator(f"{FORM} [name={name}]")
        field.evaluate("field => field.scrollIntoView({ block: 'center' })")
        expect(field).to_be_in_viewport(ratio=1)
        box, header = (tab.locator(s).bounding_box() for s in (".mask tbody", ".md-header"))
        assert box["y"] >= header["y"] + header["height"], name
        assert box["y"] + box["height"] <= field.bounding_box()["y"], name


def test_chapters_lead_to_the_explorers(site: Site) -> None:
    sections = {
        "masks": ("foundations/masks/", "explorer"),
        "softmax": ("foundations/scaled-dot-product/", "softmax-explorer"),
        "kv-memory": ("memory/kv-memory/", "calculator"),
    }
    for root in ("", "zh/"):
        for page, (chapter, anchor) in sections.items():
            elements = [*site.tree(root + chapter).iter()]
            at = next(i for i, e in enumerate(elements) if e.get("id") == anchor)
            link = next(e for e in elements[at:] if "md-button" in e.get("class", "").split())
            assert link.get("href") == f"../../explore/{page}/"


def test_only_explorers_load_the_script_and_offer_no_notebook(site: Site) -> None:
    pages = sorted(f"{root}explore/{page}/" for root in ("", "zh/") for page in PAGES)
    assert site.loading("assets/javascripts/settings.js") == pages
    for page in pages:
        assert not list(site.pages[page].parent.glob("*.ipynb"))
        assert (ROOT / "docs" / page.removeprefix("zh/") / "explorer.js").is_file()
