"""One look at a page in the browser: what it asks for, what it complains of, how it lies there.

`make test` looks at the pages that are made each in their own way, CI at every page, in the palette
and width that its address picks: the pages take turns. `make audit` looks at each in all four.
"""

import gzip
from functools import cache
from pathlib import PurePath
from types import SimpleNamespace
from urllib.parse import unquote, urlsplit
from zlib import crc32

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, ViewportSize

from tests.conftest import ROOT, SUB_PATH, Site

FIRST_VIEW, OWN = 180 * 1024, 10 * 1024  # bytes, packed: of all that a page loads, of our scripts
SCRIPTS = {file.name for file in (ROOT / "docs").rglob("*.js")}  # our own
PHONE, DESK = 360, 1280
LOOKS = [(width, scheme) for width in (PHONE, DESK) for scheme in ("light", "dark")]
# rules that judge how things are drawn, and so judge what is styled alike alike; target-size is a
# rule of WCAG 2.2, and off by default
RULES = ["color-contrast", "link-in-text-block", "target-size"]
DRAWN = {rule: {"enabled": True} for rule in RULES}
# how far what was shown moved since the page was opened, once it has come to rest
SHIFT = """async () => {
    let shift = 0
    const add = entries => entries.forEach(entry => shift += entry.value)
    const observer = new PerformanceObserver(list => add(list.getEntries()))
    observer.observe({ type: "layout-shift", buffered: true })
    await document.fonts.ready
    await new Promise(requestIdleCallback)
    for (const frame of [1, 2, 3]) await new Promise(requestAnimationFrame)
    add(observer.takeRecords())
    return shift
}"""
# the browser's global names, those that no page has added to
NAMES = """() => {
    const frame = document.body.appendChild(document.createElement("iframe"))
    const names = Object.getOwnPropertyNames(frame.contentWindow)
    frame.remove()
    return names
}"""
# what of the browser is no longer the browser's own: functions of its global names, of their
# prototypes and of the objects that there is one of
REPLACED = """names => {
    const source = Function.prototype.toString
    const native = value =>
        typeof value !== "function" || source.call(value).endsWith("{ [native code] }")
    const ones = ["document", "location", "history", "navigator"]
    const places = new Map(ones.map(name => [name, globalThis[name]]))
    const replaced = []
    if (globalThis.document) {
        for (const name of ["head", "body", "documentElement"]) { // they have nothing of their own
            const own = Object.getOwnPropertyNames(document[name])
            replaced.push(...own.map(property => `${name}.${property}`))
        }
    }
    for (const name of names ?? Object.getOwnPropertyNames(globalThis)) {
        const { value } = Object.getOwnPropertyDescriptor(globalThis, name) ?? {}
        if (value?.prototype) places.set(`${name}.prototype`, value.prototype)
        if (!native(value)) replaced.push(name)
    }
    for (const [place, object] of places) {
        const there = Object.entries(Object.getOwnPropertyDescriptors(object ?? {}))
        for (const [name, { value, get, set }] of there) {
            if (![value, get, set].every(native)) replaced.push(`${place}.${name}`)
        }
    }
    return replaced
}"""
# hundreds of coloured words and drawn lines make axe slow: leave the first word of each class, the
# rest as plain text, and of figures and most formulas what a screen reader is told
THIN = """() => {
    const seen = new Set()
    for (const word of document.querySelectorAll("pre > code span:not(.told)")) {
        if (seen.has(word.className)) word.replaceWith(...word.childNodes)
        else seen.add(word.className)
    }
    const drawn = document.querySelectorAll("svg.figure > :not(title, desc, :has(a))")
    for (const part of drawn) part.remove()
    for (const row of [...document.querySelectorAll("math > *")].slice(9)) row.remove()
}"""
# every page has the list of all pages: leave two of each part, and this one
SHORT = """() => {
    const entries = document.querySelectorAll(".md-sidebar--primary .md-nav__item:nth-child(n+3)")
    for (const entry of entries)
        if (!entry.closest(".md-nav--secondary") && !entry.matches(".md-nav__item--active"))
            entry.remove()
}"""
# what has the same tags and classes from the root down is drawn alike, on any page in this width
# and palette: leave two, those of the pages before counted
FEW = """before => {
    const root = document.querySelector(".md-main") ?? document.body
    const times = new Map(Object.entries(before)), kinds = new Map([[root, ""]])
    for (const element of root.querySelectorAll("*")) {
        if (!kinds.has(element.parentElement)) continue  // it went with an element around it
        const own = `${element.localName} ${element.getAttribute("class") ?? ""}`
        const kind = `${kinds.get(element.parentElement)} > ${own}`
        times.set(kind, (times.get(kind) ?? 0) + 1)
        if (times.get(kind) > 2 && !element.closest("svg, math")) element.remove()
        else kinds.set(element, kind)
    }
    return Object.fromEntries(times)
}"""
# what axe finds wrong, and nothing of all that it finds right
JUDGE = """async (context, options) => {
    const found = await axe.run(context ?? document, { resultTypes: ["violations"], ...options })
    return found.violations.flatMap(({ id, help, nodes }) =>
        nodes.map(({ html }) => `${id}: ${help}: ${html.slice(0, 120)}`))
}"""
# each of the above in one call, as a call takes longer than what it does
ARRIVED = f"""async names => {{
    return [await ({SHIFT})(), ({REPLACED})(names), document.scrollingElement.scrollWidth]
}}"""
JUDGED = f"""async ([short, before, others, drawn]) => {{
    const judge = {JUDGE};
    ({THIN})();
    if (short) ({SHORT})();
    const found = await judge(document, others), times = ({FEW})(before)
    return [[...found, ...await judge(document, drawn)], times]
}}"""


def turn(url: str) -> tuple[int, str]:
    """Return the width and the palette that a page is looked at in outside `make audit`."""
    return LOOKS[crc32(url.encode()) % len(LOOKS)]


@cache
def names_of(tab: Page) -> list[str]:
    """Return the global names of the browser that a page is open in."""
    names: list[str] = tab.evaluate(NAMES)
    return names


def faults(found: list[str]) -> list[str]:
    """Leave out what axe is wrong about: it takes a header cell that is one formula for empty."""
    return [f for f in found if not (f.startswith("empty-table-header") and "<math" in f)]


def violations(tab: Page, context: object = None, **options) -> list[str]:
    """Return what axe-core finds wrong with the page that is open, or with a part of it."""
    if not tab.evaluate("typeof axe === 'object'"):
        tab.evaluate(Axe().axe_script)
    return faults(tab.evaluate(f"asked => ({JUDGE})(...asked)", [context, options]))


def open_page(visit, url: str, width: int, scheme: str) -> SimpleNamespace:
    """Open a page; return its requests and complaints, how far it moved and how wide it is."""
    page = visit(url, width, scheme)
    page.shift, page.replaced, page.width = page.tab.evaluate(ARRIVED, names_of(page.tab))
    return page


def look(
    visit, url: str, width: int, scheme: str, before: dict[tuple[int, str], dict[str, int]]
) -> SimpleNamespace:
    """Look at a page on a phone, and with axe in one width and palette.

    `before` counts what was looked at, by width and palette.
    """
    page = open_page(visit, url, PHONE, scheme)
    page.complaints = [*page.complaints]  # those to come are of scripts that miss their elements
    page.tab.set_viewport_size(ViewportSize(width=width, height=800))
    page.tab.evaluate(Axe().axe_script)
    short = url not in {"", "zh/"}  # whose list is looked at whole
    others = {"rules": {rule: {"enabled": False} for rule in DRAWN}}
    asked = [short, before.get((width, scheme), {}), others, {"runOnly": RULES}]
    found, before[width, scheme] = page.tab.evaluate(JUDGED, asked)
    page.violations = faults(found)
    page.tab.goto("about:blank")  # scripts that miss their elements complain to no other page
    return page


def look_thoroughly(visit, url: str, width: int, scheme: str, _: object = None) -> SimpleNamespace:
    """Look at a page in one width and palette: axe sees all of its text and its list of pages."""
    page = open_page(visit, url, width, scheme)
    page.tab.evaluate(THIN)
    page.violations = violations(page.tab, rules=DRAWN)
    return page


def loaded(page: SimpleNamespace, site: Site, address: str) -> dict[str, int]:
    """Return how many bytes, packed, each file has that a page loads of the site."""
    asked = (request for request in page.requests if request.startswith(address))
    paths = {unquote(urlsplit(request).path).removeprefix(SUB_PATH) for request in asked}
    names = (path + "index.html" if path.endswith("/") or not path else path for path in paths)
    return {name: len(gzip.compress((site.path / name).read_bytes())) for name in names}


def wrong(page: SimpleNamespace, site: Site, address: str) -> list[str]:
    """Return all that is wrong with a page after a look at it."""
    found = [*page.complaints, *page.violations, *(f"{name} is replaced" for name in page.replaced)]
    for request in page.requests:
        if not request.startswith((address, "data:", "blob:")):
            found.append(f"asks another host: {request}")
        if f"{SUB_PATH}search/" in request:
            found.append("fetches the search index")
    if page.width > PHONE:
        found.append(f"is {page.width} pixels wide on a phone")
    if page.shift:
        found.append(f"moves by {page.shift} while loading")
    files = loaded(page, site, address)
    own = {name: size for name, size in files.items() if PurePath(name).name in SCRIPTS}
    for sizes, limit in ((files, FIRST_VIEW), (own, OWN)):
        if sum(sizes.values()) > limit:
            found.append(f"loads more than {limit} bytes: {sizes}")
    return found
