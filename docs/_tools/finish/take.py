"""What a page offers to be taken along, and the page with the links that lead to it."""

import base64
import re
from dataclasses import dataclass
from posixpath import basename, dirname, relpath
from urllib.parse import urldefrag, urljoin

from selectolax.lexbor import LexborHTMLParser, LexborNode

from docs._kit.text import Words
from docs._tools.editions import Edition
from docs._tools.finish.figures import Figures
from docs._tools.finish.notebook import notebook, scripts
from docs._tools.finish.twin import Address, Block, Twin, twin
from docs._tools.page import Place

HEADING = "</h1>"
BLOCK = re.compile('<details class="package">|<div class="language-python')
PACKAGE = re.compile(r"^ *(?:from|import) attn_docs\b", re.M)  # in a block that needs it
FOLD = re.compile("<details[ >]|</details>")
CODE = re.compile("`(.*?)`")
INSTALL = '<p id="install"></p>'  # where a page wants the line, if not above its first block
STARTS = {"", "reference/api"}  # pages that lead to others, and offer nothing themselves


@dataclass(frozen=True)
class Site:
    """What all pages of one language share."""

    edition: Edition
    address: str  # where the site is published, "" if nobody knows
    package: str  # the wheel's file name
    figures: Figures
    words: Words  # what is said in its language

    def address_of(self, file: str, folder: str) -> str:
        """Return a file's whole address or, where nobody knows it, the way from a folder."""
        return urljoin(self.address, file) if self.address else relpath(file, folder or ".")


@dataclass(frozen=True)
class Page:
    """A page and the file that the engine wrote, such as zh/foundations/masks/index.html."""

    site: Site
    place: Place
    file: str

    @property
    def folder(self) -> str:
        """Return where in the site the page is, and what is taken along from it."""
        return dirname(self.file)

    @property
    def twin(self) -> str:
        """Return the page's Markdown file."""
        return self.file.removesuffix("html") + "md"


@dataclass(frozen=True)
class Taken:
    """A page as it is published, what lies beside it, and what the lists say of it."""

    html: str
    files: dict[str, bytes]
    twin: str
    title: str
    description: str
    text: str


def taken(page: Page, html: str, tree: LexborHTMLParser) -> Taken:
    """Make all that a page offers; `tree` is its HTML, parsed."""
    title, description = (
        _first(tree, f"meta[{meta}]", page).attributes["content"] or ""
        for meta in ('property="og:title"', 'name="description"')
    )
    _first(tree, "article h1", page)
    if (line := tree.css_first("p#install")) is not None:  # in the twin it stands as it is typed
        address = page.site.address_of(page.site.package, page.folder)
        line.inner_html = f"<code>pip install {address}</code>"
    text = twin(_first(tree, "article", page), page.file, page.site.figures.named)
    files = {page.twin: text.markdown(lambda link: _in_twin(link, page)).encode()}
    if page.place.is_chapter:
        files |= _chapter(page, text)
    listed = text.markdown(lambda link: _in_list(link, page))
    html = with_links(html, page, any(map(_needs_package, text.aside)))
    return Taken(html, files, page.twin, title, description, listed)


def _first(tree: LexborHTMLParser, selector: str, page: Page) -> LexborNode:
    found = tree.css_first(selector)
    if found is None:
        raise ValueError(f"{page.file}: a page must hold what `{selector}` finds; got none")
    return found


def _chapter(page: Page, text: Twin) -> dict[str, bytes]:
    """Return a chapter's notebook and its scripts."""
    name, site = page.place.name, page.site
    blocks = [
        thing for thing in text.aside if isinstance(thing, Block) and thing.language == "python"
    ]
    if typed := [block.source for block in blocks if not block.title]:
        raise ValueError(
            f"{page.file}: each block must name its file; got one without:\n{typed[0]}"
        )
    pieces = text.pieces(lambda link: _in_notebook(link, page))
    install = f"%pip install --quiet {site.address_of(site.package, page.folder)}"
    if not site.address:
        install = "".join(f"# {line}\n" for line in site.words["moved"]) + install
    return {
        f"{page.folder}/{name}.ipynb": notebook(pieces, install, _brings(site.words, "cell")),
        f"{page.folder}/{name}.zip": scripts(name, blocks),
    }


def _needs_package(thing: object) -> bool:
    return isinstance(thing, Block) and bool(PACKAGE.search(thing.source))


def with_links(html: str, page: Page, needs_package: bool) -> str:
    """Return a page that leads to what it offers, and says how to run blocks with the package."""
    if page.place.folder not in STARTS:
        html = html.replace(HEADING, f"{HEADING}\n{_links(page)}\n", 1)
    if INSTALL in html:
        return html.replace(INSTALL, f'<a id="install"></a>{_install(page)}')
    first = BLOCK.search(html)
    if not needs_package or first is None:
        return html
    around = _folds_around(html[: first.start()])
    place = around[0] if around else first.start()
    return f"{html[:place]}{_install(page)}\n{html[place:]}"


def _folds_around(before: str) -> list[int]:
    """Return where the folds start that are still open at the end of a text."""
    starts: list[int] = []
    for tag in FOLD.finditer(before):
        if tag[0] == "</details>":
            starts.pop()
        else:
            starts.append(tag.start())
    return starts


def _links(page: Page) -> str:
    words, name = page.site.words, page.place.name
    links = [f'<a href="{basename(page.twin)}" download="{name}.md">Markdown</a>']
    if page.place.is_chapter:
        links[:0] = [
            f'<a href="{name}.ipynb" download>{words["notebook"]}</a>',
            f'<a href="{name}.zip" download>{words["scripts"]}</a>',
        ]
    told = f'<p class="takeaway" data-search-exclude>{words["download"]}\n'
    button = f'<button data-copied="{words["copied"]}">{words["copy_page"]}</button>'
    return told + " ·\n".join(links) + f'\n{button} <span role="status"></span></p>'


def _install(page: Page) -> str:
    words, package = page.site.words, page.site.package
    way = relpath(package, page.folder or ".")
    brings = CODE.sub(r"<code>\1</code>", _brings(words, "line"))
    return (
        '<div class="install" data-search-exclude><details>'
        f"<summary>{words['install']}</summary>\n<p>{words['install_once']}</p>\n"
        f'<p><code>pip install <a href="{way}">'
        f"{page.site.address}{package}</a></code></p>\n<p>{brings}</p></details>\n"
        f'<button class="md-code__button" data-md-type="copy" title="{words["copy"]}">'
        "</button></div>"
    )


def _brings(words: Words, what: str) -> str:
    return str(words["brings"]).format(what=words["what"][what])


def _in_twin(link: Address, page: Page) -> str:
    """Lead from twin to twin, or to a heading of this one."""
    file, anchor = urldefrag(_to_twin(link))
    way = "" if anchor and file == page.twin else relpath(file, page.folder or ".")
    return f"{way}#{anchor}" if anchor else way


def _in_list(link: Address, page: Page) -> str:
    return page.site.address_of(_to_twin(link), page.site.edition.root)


def _in_notebook(link: Address, page: Page) -> str:
    """Hold a drawing; lead to the page, for a notebook is read elsewhere."""
    if svg := page.site.figures.drawn.get(link.target):
        return "data:image/svg+xml;base64," + base64.b64encode(svg.encode()).decode()
    if not page.site.address:
        return link.href
    return urljoin(urljoin(page.site.address, page.file.removesuffix("index.html")), link.href)


def _to_twin(link: Address) -> str:
    file, anchor = urldefrag(link.target)
    file = file.removesuffix(".html") + ".md" if file.endswith(".html") else file
    return f"{file}#{anchor}" if anchor else file
