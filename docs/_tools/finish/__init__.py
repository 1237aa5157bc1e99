"""What is done to a site once an engine has built it, whichever engine that was.

Every page gets its policy, a Markdown twin and links to what readers take along; every chapter a
Jupyter notebook and its blocks as scripts; each language its drawings and its llms.txt. The site
carries the package's wheel. `python -m docs._tools.finish site` does it to a site that is there.
"""

import re
from dataclasses import dataclass
from pathlib import Path
from posixpath import join

from selectolax.lexbor import LexborHTMLParser

from docs._kit.text import texts
from docs._tools.editions import editions
from docs._tools.finish.cards import cards_of
from docs._tools.finish.figures import figures_of
from docs._tools.finish.llms import llms_full, llms_list
from docs._tools.finish.policy import with_policy
from docs._tools.finish.state import with_state
from docs._tools.finish.take import Page, Site, Taken, taken
from docs._tools.finish.wheel import package_wheel
from docs._tools.page import place_of

ENTRY = 'class="doc '
ENTRY_STYLES = re.compile(r'<link rel="stylesheet" href="[^"]*_mkdocstrings\.css">\s*')


@dataclass(frozen=True)
class _Made:
    """What was made of a page, and from what."""

    html: str
    page: Page
    policies: bool
    taken: Taken


# `mkdocs serve` finishes the site after each change, which leaves most pages as they were
_last: dict[str, _Made] = {}


def finish(folder: Path, address: str = "", *, policies: bool = True) -> None:
    """Finish the site that an engine has built in a folder.

    Args:
        folder: The built site.
        address: Where it will be published, if that is known.
        policies: Whether its pages state their policy. Pages that are served while they change
            reload by a script of the engine, and pages in files have no 'self' to allow.

    Raises:
        ValueError: If a page is missing, or holds what its policy forbids; the message names it.
    """
    package, code = package_wheel()
    files, listed = {package: code}, set()
    for edition in editions():
        drawings = figures_of(edition.language, edition.root)
        words = texts(__file__, "taken", edition.language)
        site = Site(edition, address, package, drawings, words)
        pages = {source: _page(folder, site, source) for source in edition.sources}
        made = {source: _finished(folder, pages[source], policies) for source in pages}
        lists = {"llms.txt": llms_list(site, made), "llms-full.txt": llms_full(site, made)}
        written = drawings.drawn | {edition.root + name: text for name, text in lists.items()}
        files |= {name: text.encode() for name, text in written.items()}
        files |= cards_of(edition.language, edition.root)
        listed |= {page.file for page in pages.values()}
    for path in folder.rglob("*.html"):
        file = path.relative_to(folder).as_posix()
        if file not in listed:  # the page that answers where there is none, pages that have moved
            html = _text(path)
            files[file] = with_policy(html, LexborHTMLParser(html), file, policies).encode()
    _write(folder, files)
    if not address:  # a sitemap holds whole addresses only
        for path in folder.glob("sitemap.xml*"):
            path.unlink()


def _page(folder: Path, site: Site, source: str) -> Page:
    """Return a page with its file: the addresses of a site are folders, or files."""
    place = place_of(source)
    address = join(site.edition.root, place.folder)
    for file in (join(address, "index.html"), f"{address}.html"):
        if (folder / file).is_file():
            return Page(site, place, file)
    raise ValueError(f"docs/{source}: the built site must hold each page; got none at /{address}")


def _finished(folder: Path, page: Page, policies: bool) -> Taken:
    """Write a page and what is taken along from it; make it only if the page has changed."""
    html, last = _text(folder / page.file), _last.get(page.file)
    if last and html == last.taken.html:  # the engine did not write it again
        html = last.html
    if last is None or (html, page, policies) != (last.html, last.page, last.policies):
        tree = LexborHTMLParser(html)
        # every page is given the styles of the API's entries, and few have entries
        styled = html if ENTRY in html else ENTRY_STYLES.sub("", html)
        ruled = with_policy(styled, tree, page.file, policies)
        last = _last[page.file] = _Made(
            html, page, policies, taken(page, with_state(ruled, page.site.package), tree)
        )
    _write(folder, {page.file: last.taken.html.encode(), **last.taken.files})
    return last.taken


def _text(path: Path) -> str:
    return path.read_bytes().decode()


def _write(folder: Path, files: dict[str, bytes]) -> None:
    for file, content in files.items():
        path = folder / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
