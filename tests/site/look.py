"""One look at a page in the browser: what it asks for, what it complains of, how it lies there.

`make test` and CI look at each page once, in the palette and width that its address picks: the
pages take turns. `make audit` looks at every page in all four.
"""

from types import SimpleNamespace
from zlib import crc32

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, ViewportSize

PHONE, DESK = 360, 1280
LOOKS = [(width, scheme) for width in (PHONE, DESK) for scheme in ("light", "dark")]
CONTRAST = ["color-contrast", "link-in-text-block"]  # of text, and of links in it: the slow rules
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
# what of the browser is no longer the browser's own: functions of its global names, of their
# prototypes and of the objects that there is one of
REPLACED = """() => {
    const source = Function.prototype.toString
    const native = value =>
        typeof value !== "function" || source.call(value).endsWith("{ [native code] }")
    const ones = ["document", "location", "history", "navigator"]
    const places = new Map(ones.map(name => [name, globalThis[name]]))
    let names = Object.getOwnPropertyNames(globalThis)
    if (globalThis.document) {
        for (const name of ["head", "body", "documentElement"]) places.set(name, document[name])
        const frame = document.body.appendChild(document.createElement("iframe"))
        names = Object.getOwnPropertyNames(frame.contentWindow)
        frame.remove()
    }
    const replaced = names.filter(name => {
        const { value } = Object.getOwnPropertyDescriptor(globalThis, name) ?? {}
        if (value?.prototype) places.set(`${name}.prototype`, value.prototype)
        return !native(value)
    })
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
    for (const word of document.querySelectorAll("pre > code span")) {
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
# for rules that judge what is styled alike alike: of elements with the same tags and classes from
# the root down leave two
FEW = """() => {
    const times = new Map(), kinds = new Map([[document.body, ""]])
    for (const element of document.body.querySelectorAll("*")) {
        if (!kinds.has(element.parentElement)) continue  // it went with an element around it
        const own = `${element.localName} ${element.getAttribute("class") ?? ""}`
        const kind = `${kinds.get(element.parentElement)} > ${own}`
        times.set(kind, (times.get(kind) ?? 0) + 1)
        if (times.get(kind) > 2 && !element.closest("svg, math")) element.remove()
        else kinds.set(element, kind)
    }
}"""


def turn(url: str) -> tuple[int, str]:
    """Return the width and the palette that a page is looked at in outside `make audit`."""
    return LOOKS[crc32(url.encode()) % len(LOOKS)]


def violations(tab: Page, context: list | None = None, **options) -> list[str]:
    """Return what axe-core finds wrong with the page that is open, or with parts of it."""
    found = Axe().run(tab, context, {"resultTypes": ["violations"], **options}).response
    faults = [
        f"{fault['id']}: {fault['help']}: {node['html'][:120]}"
        for fault in found["violations"]
        for node in fault["nodes"]
    ]
    # axe takes a header cell that is one formula for an empty one
    return [f for f in faults if not (f.startswith("empty-table-header") and "<math" in f)]


def look(visit, url: str, width: int, scheme: str, *, thoroughly: bool = False) -> SimpleNamespace:
    """Open a page; return its requests, complaints, shift, width on a phone and violations.

    Looked at thoroughly, it is asked every rule of axe with all its list of pages and all its text.
    """
    page = visit(url, width, scheme)
    tab = page.tab
    page.shift = tab.evaluate(SHIFT)
    page.replaced = tab.evaluate(REPLACED)
    tab.set_viewport_size(ViewportSize(width=PHONE, height=800))
    page.width = tab.evaluate("document.scrollingElement.scrollWidth")
    tab.set_viewport_size(ViewportSize(width=width, height=800))
    tab.evaluate(THIN)
    # a rule of WCAG 2.2, and off by default
    rules = {"target-size": {"enabled": True}}
    if thoroughly:
        page.violations = violations(tab, rules=rules)
    else:
        if url not in {"", "zh/"}:  # whose list is looked at whole
            tab.evaluate(SHORT)
        rest = rules | {rule: {"enabled": False} for rule in CONTRAST}
        page.violations = violations(tab, rules=rest)
        tab.evaluate(FEW)
        page.violations += violations(tab, runOnly=CONTRAST)
    tab.goto("about:blank")  # or else its scripts would miss what was taken out of it
    return page
