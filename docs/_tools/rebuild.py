"""MkDocs hook: while the site is served, a build makes again only what a change can have changed.

What a build makes of a page is kept beside all that it was made of: its HTML, its entries in the
search index, the page in its frame. The next build of the same process takes what it would make of
the same. `mkdocs build` builds once; it keeps compiled templates for its second language.
"""

import logging
import re
import sys
from collections.abc import Callable
from copy import copy, deepcopy
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any, TypeVar, cast

import jinja2
from material.plugins.search.plugin import SearchIndex
from mkdocs import utils
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError
from mkdocs.plugins import event_priority
from mkdocs.structure import pages
from mkdocs.structure.files import Files
from mkdocs.structure.nav import Navigation
from mkdocs.utils import CountHandler, clean_directory
from mkdocs_autorefs import AutorefsPlugin

from docs._kit.text import load as words
from docs._tools import api_pages, glossary, symbols
from docs._tools.blocks import ROOT
from docs._tools.page import DOCS
from docs._tools.search import described, without_pictures

INCLUDE = re.compile(r'--8<-- "([^":]+)')
DATA = {".html", ".json", ".toml", ".txt", ".yml"}  # all pages are made of all of these
API = ":::"  # a page with this is made of docstrings
# most of what the search index would have to parse, and none of what it holds
CODE = re.compile(r"(?s)<pre\b.*?</pre>")
COLOURS = re.compile(r"</?(?:span|bdi)\b[^>]*>")
FORMULA = re.compile(r"(?s)(?<=data-search-exclude)([^<>]*>)<math.*?</math>")

T = TypeVar("T")

kept: dict[tuple[str, str], tuple[object, Any]] = {}  # what, of which page -> made of what, it
common: dict[str, str] = {}  # what many pages are made of
code: dict[Path, bytes] = {}  # what this process runs; empty where nothing is served


def kept_or_made(what: str, page: pages.Page, made_of: object, make: Callable[[], T]) -> T:
    """Return what `make` makes, or has made of the same, unless it had something to say."""
    before, it = kept.get((what, page.url), (None, None))
    if before == made_of:
        return cast("T", it)
    heard = CountHandler(level=logging.INFO)
    logging.getLogger("mkdocs").addHandler(heard)
    try:
        it = make()
    finally:
        logging.getLogger("mkdocs").removeHandler(heard)
    if not heard.get_counts():
        kept[what, page.url] = made_of, it
    return it


class Page(pages.Page):
    """A page whose HTML is kept, and what its conversion tells the rest of the build."""

    def render(self, config: MkDocsConfig, files: Files) -> None:
        """Convert the page, or do all that its conversion did."""
        text = self.markdown or ""
        self.made_of = text, included(text), common["site"], common["api"] if API in text else ""
        convert = partial(self.convert, config, files)
        results, links, anchors = kept_or_made("html", self, self.made_of, convert)
        vars(self).update(deepcopy(results))
        self.links_to_anchors = {files.src_uris[path]: of for path, of in links.items()}
        self.anchors: list[dict[str, Any]] = []
        for anchor in anchors:
            config.plugins["autorefs"].register_anchor(self, **anchor)

    def convert(self, config: MkDocsConfig, files: Files) -> tuple[Any, ...]:
        """Convert the page; return the results, and what others were told."""
        self.anchors = []
        super().render(config, files)
        names = ("content", "toc", "_title_from_render", "present_anchor_ids")
        links = {file.src_uri: of for file, of in (self.links_to_anchors or {}).items()}
        return {name: getattr(self, name) for name in names}, links, self.anchors


class Autorefs(AutorefsPlugin):
    """Lets a page note its anchors."""

    def register_anchor(
        self,
        page: pages.Page,
        identifier: str,
        anchor: str | None = None,
        *,
        title: str | None = None,
        primary: bool = True,
    ) -> None:
        """Register an anchor that is met when a page is converted."""
        how = {"identifier": identifier, "anchor": anchor, "title": title, "primary": primary}
        if isinstance(page, Page):
            page.anchors.append(how)
        super().register_anchor(page, **how)


class Index(SearchIndex):
    """A search index that parses only what it holds, and of a page that has changed."""

    def add_entry_from_context(self, page: pages.Page) -> None:
        """Add a page's entries."""
        make = partial(self.entries_of, page)
        if isinstance(page, Page):
            made_of = page.made_of, page.content, page.title, page.meta
            self.entries += deepcopy(kept_or_made("entries", page, made_of, make))
        else:
            self.entries += make()

    def entries_of(self, page: pages.Page) -> list[dict[str, Any]]:
        """Return a page's entries."""
        index, lean = SearchIndex(**self.config), copy(page)
        html = without_traces(without_pictures(page.content or ""))
        lean.content = described(html, page.meta.get("description", ""))
        index.add_entry_from_context(lean)
        return list(index.entries)


def without_traces(html: str) -> str:
    """Return a page's HTML without tags that leave no trace in the search index."""
    html = CODE.sub(lambda block: COLOURS.sub("", block[0]), html)
    return FORMULA.sub(r"\1", html)


class Template(jinja2.Template):
    """A template whose output for a page is kept."""

    def render(self, context: dict[str, Any]) -> str:
        """Put a page into its frame, unless both are the same."""
        make, page = partial(super().render, context), context.get("page")
        if not isinstance(page, Page):
            return make()
        made_of = page.made_of, page.content, page.title, page.meta, common["frame"]
        return kept_or_made("page", page, made_of, make)


class Compiled(jinja2.BytecodeCache):
    """Keeps compiled templates; Jinja sees to it that their sources are the same."""

    def __init__(self) -> None:
        self.templates: dict[str, bytes] = {}

    def load_bytecode(self, bucket: jinja2.bccache.Bucket) -> None:
        """Take what is kept."""
        if bucket.key in self.templates:
            bucket.bytecode_from_string(self.templates[bucket.key])

    def dump_bytecode(self, bucket: jinja2.bccache.Bucket) -> None:
        """Keep what was compiled."""
        self.templates[bucket.key] = bucket.bytecode_to_string()


compiled = Compiled()


def digest(*parts: object) -> str:
    """Return what stands for these parts."""
    return sha256(repr(parts).encode()).hexdigest()


def included(text: str) -> dict[str, str]:
    """Return the files that a text includes, and those that they include."""
    wanted, found = INCLUDE.findall(text), {}
    while wanted:
        path = wanted.pop()
        if path not in found and (ROOT / path).is_file():
            found[path] = (ROOT / path).read_text(encoding="utf-8")
            wanted += INCLUDE.findall(found[path])
    return found


def loaded() -> dict[Path, bytes]:
    """Return the files of the site's own code that this process runs."""
    names = [getattr(module, "__file__", None) for module in list(sys.modules.values())]
    files = {Path(name).resolve() for name in names if name}
    return {file: file.read_bytes() for file in files if file.is_relative_to(DOCS)}


def on_startup(command: str, dirty: bool) -> None:  # noqa: ARG001
    """Learn whether the site will be built again."""
    code.update(loaded() if command == "serve" else {})


@event_priority(-200)  # once the others have made what they use
def on_config(config: MkDocsConfig) -> None:
    """Keep a page's entries in the search index, and what it tells of its anchors."""
    if "material/search" in config.plugins:
        config.plugins["material/search"].search_index.__class__ = Index
    if code:
        config.plugins["autorefs"].__class__ = Autorefs
        for file, content in code.items():
            if not file.is_file() or file.read_bytes() != content:
                raise PluginError(
                    f"{file} has changed, and its code runs as it was: stop and start again"
                )


def on_build_error(error: Exception) -> None:  # noqa: ARG001
    """Give back what i18n replaces while it builds the other languages, or nothing is cleaned."""
    utils.clean_directory = clean_directory


@event_priority(200)  # while the files of all languages are there
def on_files(files: Files, config: MkDocsConfig) -> None:
    """See what many pages are made of."""
    if not code:
        return
    api_pages.exports.cache_clear()
    api_pages.recipes.cache_clear()
    glossary.terms.cache_clear()
    glossary.linked.cache_clear()
    symbols.pages.cache_clear()
    words.cache_clear()
    own = [file for file in files if Path(file.abs_src_path or "").is_relative_to(DOCS)]
    names = [(file.src_uri, file.inclusion) for file in own if file.inclusion.is_included()]
    data = [file.content_bytes for file in own if Path(file.src_uri).suffix in DATA]
    common["site"] = digest(names, data, Path(config.config_file_path).read_bytes())
    texts = [file.content_string for file in own if file.src_uri.endswith(".md")]
    sources = [path.read_bytes() for path in sorted((ROOT / "attn_docs").rglob("*.py"))]
    recipes = (DOCS / api_pages.RECIPES).read_bytes()  # an entry names those that use it
    common["api"] = digest(sources, [text for text in texts if API in text], recipes)


@event_priority(-200)  # once a language has its pages
def on_nav(nav: Navigation, config: MkDocsConfig, files: Files) -> None:  # noqa: ARG001
    """Keep what is made of each page."""
    if code:
        for file in files.documentation_pages():
            file.page.__class__ = Page


@event_priority(-200)  # once the pages have their titles
def on_env(env: jinja2.Environment, config: MkDocsConfig, files: Files) -> None:  # noqa: ARG001
    """Keep compiled templates, and pages in their frame."""
    env.bytecode_cache = compiled
    if code:
        env.template_class = Template
        shown = [file.page for file in files.documentation_pages()]
        titles = [(page.url, page.title, page.meta) for page in shown]
        common["frame"] = digest(titles, common["site"])
