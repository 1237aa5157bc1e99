"""What a built page shows: its Python blocks as a reader copies them, and the site's counts."""

import io
import re
import tokenize
from functools import cache
from pathlib import Path
from urllib.parse import urljoin
from xml.etree.ElementTree import Element

import html5lib


@cache
def parse(html: str) -> tuple[Element, list[str]]:
    """Return a page's tree, its tags without namespaces, and what HTML's grammar forbids in it."""
    parser = html5lib.HTMLParser(namespaceHTMLElements=False)
    tree = parser.parse(html)
    for element in tree.iter():
        element.tag = re.sub("^{.*}", "", str(element.tag))
    return tree, [f"line {line}: {code} {data}" for (line, _), code, data in parser.errors]


def tree(page: Path) -> Element:
    """Return the tree of a built page."""
    return parse(page.read_text(encoding="utf-8"))[0]


def code_blocks(page: Path) -> list[tuple[str, str]]:
    """Return language and text of every code block; the language is "" where none is marked."""
    found = []
    for parent in tree(page).iter():
        for child in parent:
            if child.tag == "pre":
                marks = re.findall(r"language-(\w+)", parent.get("class") or "")
                found.append((marks[0] if marks else "", "".join(child.itertext())))
    return found


def python_blocks(page: Path) -> list[str]:
    """Return the text of every Python block of a built page, in order."""
    return [text for language, text in code_blocks(page) if language == "python"]


def output_lines(block: str) -> list[str]:
    """Return what a block says it prints: its `#>` comments, none from inside a docstring."""
    tokens = tokenize.generate_tokens(io.StringIO(block).readline)
    comments = [token.string for token in tokens if token.type == tokenize.COMMENT]
    return [text[2:].removeprefix(" ") for text in comments if text.startswith("#>")]


def addresses(site: Path) -> set[str]:
    """Return what a link may name: each page, its headings, and what other anchors it was given."""
    anchors, moved = {}, {}
    for page in site.rglob("index.html"):
        url = "/" + page.relative_to(site).as_posix().removesuffix("index.html")
        named = {e.get("id"): e for e in tree(page).iter() if re.fullmatch("h[1-6]|a", e.tag)}
        anchors[url] = {*named} - {None}
        if "redirect" in named:  # leads on, with any anchor: docs/_theme/redirect.html
            moved[url] = urljoin(url, named["redirect"].get("href")).partition("#")[0]
    anchors |= {url: anchors.get(target, set()) for url, target in moved.items()}
    return {*anchors} | {f"{url}#{anchor}" for url in anchors for anchor in anchors[url]}


def count(site: Path | None) -> dict[str, str]:
    """Count the English pages' distinct blocks, their output lines, figures and formulas."""
    pages = [p for p in site.rglob("*.html") if "zh" not in p.parts] if site else []
    blocks = {text for page in pages for text in python_blocks(page)}
    elements = [element for page in pages for element in tree(page).iter()]
    figures = {e.get("aria-labelledby") for e in elements if e.get("class") == "figure"}
    return {
        "blocks": str(len(blocks)),
        "outputs": str(sum(len(output_lines(block)) for block in blocks)),
        "figures": str(len(figures)),
        "formulas": str(sum(element.tag == "math" for element in elements)),
    }
