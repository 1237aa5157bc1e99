"""Markdown extension: the first use of each term in a chapter's sentences leads to the glossary.

`docs/reference/glossary/glossary.toml` holds the terms. A link is put into paragraphs and lists:
one for each term of a page, two at most in a paragraph. A page's own subject, and what its author
has linked or set in bold before, has no need of one.
"""

import re
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import cache
from posixpath import relpath
from typing import Any, NamedTuple
from xml.etree.ElementTree import Element

from markdown import Extension, Markdown
from markdown.treeprocessors import Treeprocessor

from docs._tools.page import DOCS, Place, page_name, place_of

FOLDER = "reference/glossary"
FILE = DOCS / FOLDER / "glossary.toml"
FIELDS = {"en", "zh", "aliases", "page", "says"}
AT_MOST = 2  # links in a paragraph
LIBRARY = "transformers"  # in small letters the package, which is no plural of the term
PARAGRAPHS = {"p", "li", "dd"}
# what explains a term itself, and what is no sentence
EXPLAINED = {"a", "strong"}
CLOSED = {*"h1 h2 h3 h4 h5 h6 pre code table figcaption summary script svg math form".split()}
CLOSED_CLASSES = {"arithmatex", "admonition-title", "glance", "footnote", "facts", "measured"}
HAN = "[\u3400-\u9fff]"
# what stands before and after a name of one character: a counter, "each", "and"; "is", "all"
BEFORE = "\u4e2a\u548c\u4e0e\u5404\u6bcf\u4e9b"
AFTER = "\u548c\u4e0e\u7684\u662f\u90fd"


class GlossaryError(ValueError):
    """A term that lacks something, or shares a name with another; the message names both."""


class Terms(NamedTuple):
    """The terms that one language links: a pattern of all names, and whose each name is."""

    pattern: re.Pattern[str]
    ids: dict[str, str]


@cache
def terms() -> dict[str, Any]:
    """Return every term by its anchor; refuse one without a field or in the wrong place."""
    found = tomllib.loads(FILE.read_text(encoding="utf-8"))
    for name, term in found.items():
        if set(term) - {"linked"} != FIELDS or set(term["says"]) != {"en", "zh"}:
            raise GlossaryError(f"{FILE.name}: {name} must have {sorted(FIELDS)}; says en and zh")
    names = Counter(name.casefold() for term in found.values() for name in {*names_of(term)})
    if twice := sorted(name for name, times in names.items() if times > 1):
        raise GlossaryError(f"{FILE.name}: each name must be one term's; got {twice} twice")
    order = [term["en"].casefold() for term in found.values()]
    if order != sorted(order):
        raise GlossaryError(f"{FILE.name}: terms must be sorted by their English names")
    return found


def names_of(term: dict[str, Any]) -> list[str]:
    """Return all names of a term, in both languages."""
    return [term["en"], term["zh"], *term["aliases"]]


@cache
def linked(language: str) -> Terms:
    """Return what to look for in a language's sentences, in small letters."""
    of = {
        name.lower(): key
        for key, term in terms().items()
        for name in names_of(term)
        if language == "zh" or not re.search(HAN, name)
    }
    words = [name for name in of if re.match("[a-z]", name)]
    others = {*of} - {*words}
    pattern = f"(?<![a-z0-9_-]){_any(words)}(?![a-z0-9_-])"
    pattern += f"|{_any(others)}" if others else ""
    return Terms(re.compile(pattern), {plain(name): key for name, key in of.items()})


def _any(names: Iterable[str]) -> str:
    """Return what finds any of some names, the longest first; initials tell soon."""
    patterns: dict[str, list[str]] = {}
    for name in sorted(names, key=len, reverse=True):
        patterns.setdefault(name[0], []).append(_pattern(name))
    groups = (f"(?={initial})(?:{'|'.join(rest)})" for initial, rest in patterns.items())
    return f"(?=[{''.join(patterns)}])(?:{'|'.join(groups)})"


def _pattern(name: str) -> str:
    """Return what finds a name; English ones in the plural, too."""
    if re.fullmatch(HAN, name):
        return f"(?:(?<=[{BEFORE}])|(?<!{HAN})){name}(?:(?=[{AFTER}])|(?!{HAN}))"
    if re.search(HAN, name):
        return re.escape(name).replace(r"\ ", r"\s*")
    whole = re.escape(name).replace(r"\ ", r"\s+")
    return rf"{whole[:-1]}(?:y|ies)" if re.search("[^aeiou]y$", name) else f"{whole}s?"


def key_of(match: re.Match[str], ids: dict[str, str]) -> str:
    """Return whose name was found, which may be a plural."""
    found = plain(match[0])
    spelled = (found, found.removesuffix("s"), found.removesuffix("ies") + "y")
    return next(ids[name] for name in spelled if name in ids)


def plain(name: str) -> str:
    """Return a name as names are compared: without spaces and capitals."""
    return "".join(name.lower().split())


class Links:
    """The links of one page, put in while its tree is walked."""

    def __init__(self, place: Place) -> None:
        """Begin a page: its own subject is taken for explained."""
        self.language = place.language
        self.terms = linked(place.language)
        self.entries = f"{relpath(FOLDER, place.folder)}/index.md"
        self.done = {
            key
            for key, term in terms().items()
            if not term.get("linked", True) or term["page"].startswith(f"{place.folder}/")
        }

    def walk(self, element: Element) -> None:
        """Link the terms of all paragraphs below an element."""
        for child in list(element):
            if child.get("id") == "sources":  # titles of papers follow
                return
            if is_closed(child):
                continue
            if child.tag in PARAGRAPHS:
                self.left = AT_MOST
                self.sentences(child)
            self.walk(child)

    def sentences(self, parent: Element) -> None:
        """Link the terms of a paragraph, but not those of paragraphs inside it."""
        parent.text, first = self.split(parent.text)
        for child in list(parent):
            if child.tag in EXPLAINED:
                self.done |= {key for _, key in self.found("".join(child.itertext()))}
            elif child.tag not in {*PARAGRAPHS, "ul", "ol", "div"} and not is_closed(child):
                self.sentences(child)
            child.tail, links = self.split(child.tail)
            after = list(parent).index(child) + 1
            parent[after:after] = links
        parent[:0] = first

    def split(self, text: str | None) -> tuple[str | None, list[Element]]:
        """Return a text up to its first link, and its links, each followed by its share of it."""
        links: list[Element] = []
        shares, end = [], 0
        for match, key in self.found(text or ""):
            if key not in self.done and self.left:
                self.done.add(key)
                self.left -= 1
                links.append(self.link(key, (text or "")[match.start() : match.end()]))
                shares.append((text or "")[end : match.start()])
                end = match.end()
        if not links:
            return text, []
        shares.append((text or "")[end:])
        for link, share in zip(links, shares[1:], strict=True):
            link.tail = share
        return shares[0], links

    def found(self, text: str) -> Iterator[tuple[re.Match[str], str]]:
        """Yield each name in a text, with the term that it names."""
        for match in self.terms.pattern.finditer(text.lower()):
            if text[match.start() : match.end()] == LIBRARY:
                continue
            yield match, key_of(match, self.terms.ids)

    def link(self, key: str, text: str) -> Element:
        """Return the link from a use of a term to its entry."""
        says = terms()[key]["says"][self.language]
        link = Element("a", {"class": "term", "href": f"{self.entries}#{key}", "title": says})
        link.text = text
        return link


def is_closed(element: Element) -> bool:
    """Tell whether an element holds no sentences."""
    return element.tag in CLOSED or not CLOSED_CLASSES.isdisjoint(
        (element.get("class") or "").split()
    )


class _FirstUses(Treeprocessor):
    def run(self, root: Element) -> None:
        page = page_name(self.md)
        if not page.endswith(".md"):
            return
        place = place_of(page)
        if place.is_chapter or place.folder.startswith("primer/"):
            Links(place).walk(root)


class GlossaryExtension(Extension):
    """Registers the links after attribute lists (8), before addresses are made of links (0)."""

    def extendMarkdown(self, md: Markdown) -> None:  # noqa: N802
        md.treeprocessors.register(_FirstUses(md), "glossary", 4)
