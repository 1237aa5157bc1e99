"""A page as Markdown: what its twin, its notebook and llms-full.txt say, each with its own links.

Code, formulas, figures and addresses are put aside before the page is converted, with a mark in
the place of each, so that no rule of Markdown touches them; each use puts them back its own way.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from html import escape
from posixpath import dirname, join, normpath, relpath
from textwrap import indent
from urllib.parse import urlsplit

from html_to_markdown import ConversionOptions, convert
from selectolax.lexbor import LexborNode

from docs._tools.blocks import BlockError, included_file

OPTIONS = ConversionOptions(compact_tables=True, extract_metadata=False)
# of an engine's page what is no part of the text: controls, what its theme adds, what is said twice
DROPPED = (
    "form, button, script, .headerlink, .md-content__button, .md-tags, .page-end, .ran, .checked, "
    ".symbols, .package > summary, .glance > .stages"
)
# an address comes back from the conversion encoded
MARK = re.compile(r"\ue000(\d+)\ue001|%EE%80%80(\d+)%EE%80%81")
FENCE = re.compile(r"^(?P<indent> *)```\w*\n *\ue000(?P<number>\d+)\ue001\n *```$", re.M)
HEADING_END = re.compile(r"^(#+ .*?) +(?=\ue000\d+\ue001$)", re.M)
BAR = r"\vert "  # a | would end a table's cell
# Markdown ends nothing bold between a full stop and a letter, as Chinese has it
BOLD_STOP = re.compile(r"([。：？”]+)(</strong>|</em>)(?=\w)")


@dataclass(frozen=True)
class Block:
    """A block of code. Its title is the file that it includes, "" where it includes none."""

    language: str
    title: str
    source: str

    def __str__(self) -> str:
        """Return the block in a fence longer than any that it shows."""
        ticks = max(["``", *re.findall("`{3,}", self.source)], key=len) + "`"
        return "\n".join([ticks + self.language, self.source.rstrip("\n"), ticks])


@dataclass(frozen=True)
class Address:
    """Where a link leads, or an image is."""

    href: str  # as the page says it
    target: str  # the file in the site, with the anchor


@dataclass(frozen=True)
class Anchor:
    """A heading's identifier."""

    name: str


@dataclass
class Twin:
    """A page's text with marks, and what they stand for."""

    text: str
    aside: list[str | Block | Address | Anchor] = field(default_factory=list)

    def mark(self, thing: str | Block | Address | Anchor) -> str:
        """Put something aside and return the mark that stands for it."""
        self.aside.append(thing)
        return f"\ue000{len(self.aside) - 1}\ue001"

    def markdown(self, link: Callable[[Address], str]) -> str:
        """Return the whole page; `link` says how an address is written."""
        return self._put_back(FENCE.sub(self._fence, self.text), link)

    def pieces(self, link: Callable[[Address], str]) -> Iterator[str | Block]:
        """Yield text and Python blocks in turns; a heading needs no anchor here."""
        end = 0
        for fence in FENCE.finditer(self.text):
            block = self.aside[int(fence["number"])]
            if isinstance(block, Block) and block.language == "python":
                yield self._between(end, fence.start(), link)
                yield block
                end = fence.end()
        yield self._between(end, len(self.text), link)

    def _between(self, start: int, end: int, link: Callable[[Address], str]) -> str:
        text = FENCE.sub(self._fence, self.text[start:end])
        return self._put_back(text, link, anchors=False).strip("\n")

    def _fence(self, fence: re.Match[str]) -> str:
        return indent(str(self.aside[int(fence["number"])]), fence["indent"])

    def _put_back(self, text: str, link: Callable[[Address], str], *, anchors: bool = True) -> str:
        def put(mark: re.Match[str]) -> str:
            thing = self.aside[int(mark[1] or mark[2])]
            if isinstance(thing, Address):
                return link(thing)
            if isinstance(thing, Anchor):
                return f" {{#{thing.name}}}" if anchors else ""
            return str(thing)

        return MARK.sub(put, text)


def twin(article: LexborNode, file: str, figures: dict[str, str]) -> Twin:
    """Return a page as Markdown, taking its tree apart.

    `file` is the page's place in the site; `figures` tells that of each drawing, by its id.
    """
    made = Twin("")
    for node in article.css(DROPPED):
        node.decompose()
    for node in article.css("a.term"):  # a word of the sentence, where no page can be pointed at
        node.unwrap()
    for node in article.css('div[class^="language-"]'):
        block = _block(node, file)
        title = f"<p><code>{escape(block.title)}</code></p>" if block.title else ""
        node.inner_html = f"{title}<pre><code>{made.mark(block)}</code></pre>"
    for node in article.css("math"):
        node.replace_with(made.mark(_formula(node)))
    for node in article.css("svg[aria-labelledby]"):
        _set_image(node, made, file, figures)
    for node in article.css("a[href]"):
        if address := _address(node.attributes["href"] or "", file):
            node.attrs["href"] = made.mark(address)
    for node in article.css("h2[id], h3[id], h4[id], h5[id], h6[id]"):
        node.insert_child(made.mark(Anchor(node.id or "")))
    for node in article.css(".glance > dl"):
        node.replace_with(_list(node))
    text = convert(BOLD_STOP.sub(r"\2\1", article.inner_html or ""), OPTIONS).content or ""
    made.text = HEADING_END.sub(r"\1", text)
    return made


def _list(terms: LexborNode) -> LexborNode:
    """Return terms and what is said of each as a list, which Markdown has."""
    said = zip(terms.css("dt"), terms.css("dd"), strict=True)
    made = terms.parser.create_node("ul")
    made.inner_html = "".join(
        f"<li><strong>{term.text()}</strong> {text.inner_html}</li>" for term, text in said
    )
    return made


def _block(node: LexborNode, file: str) -> Block:
    """Return a block with the text of the file that it includes, if it includes one."""
    language = (node.attributes["class"] or "").split()[0].removeprefix("language-")
    title, shown = node.css_first(".filename[title]"), node.css_first("pre").text()
    if title is None:
        return Block(language, "", shown)
    path = title.attributes["title"] or ""
    try:
        return Block(language, path, included_file(f'--8<-- "{path}"')[1])
    except BlockError as error:
        raise ValueError(f"{file}: {error}") from error


def _formula(node: LexborNode) -> str:
    tex = " ".join(node.css_first("annotation").text().split())
    if node.attributes.get("display") == "block":
        return f"$${tex}$$"
    return f"${tex.replace('|', BAR)}$"


def _set_image(node: LexborNode, made: Twin, file: str, figures: dict[str, str]) -> None:
    """Replace a drawing by an image of it."""
    name = (node.attributes["aria-labelledby"] or "").split()[0]
    if name not in figures:
        raise ValueError(f"{file}: each drawing must be a file of docs/**/made; got {name}")
    drawing = figures[name]
    image = node.parser.create_node("img")
    image.attrs["src"] = made.mark(Address(relpath(drawing, dirname(file) or "."), drawing))
    told = (" ".join(part.text().split()) for part in node.css("title, desc"))
    image.attrs["alt"] = ": ".join(told)
    node.replace_with(image)


def _address(href: str, file: str) -> Address | None:
    """Return where a link leads in the site, None if it leads out of it."""
    if urlsplit(href).scheme or href.startswith("//"):
        return None
    path, anchor = urlsplit(href).path, urlsplit(href).fragment  # settings are for a page alone
    target = normpath(join(dirname(file), path)) if path else file
    if path.endswith(("/", ".")):
        target = join(target, "index.html")
    return Address(href, f"{target}#{anchor}" if anchor else target)
