"""Markdown extension: an API entry says how its names are imported, and what is near.

Below its title it gets one line to import them, the entries that it belongs together with
(docs/reference/api/related.toml), and the recipes that use one of its names. The latter are read in
the recipes' code.
"""

import ast
import re
import tomllib
from collections.abc import Iterator
from functools import cache
from posixpath import relpath
from typing import NamedTuple

from markdown import Extension, Markdown
from markdown.preprocessors import Preprocessor

from docs._tools.blocks import INCLUDE, ROOT
from docs._tools.page import DOCS, page_name
from docs._tools.signatures import offers

API = "reference/api/"
RECIPES = "reference/recipes/index.md"
RELATED = DOCS / API / "related.toml"
MODULE = re.compile(r"^::: (attn_docs[\w.]+)$", re.M)
HEADING = re.compile(r"^## (?P<title>.+?) \{ #(?P<anchor>[\w-]+) \}$")
PACKAGES = ("attn_docs", "attn_docs.testing")


class Recipe(NamedTuple):
    """A recipe: where it stands on its page, what it answers, and which names it imports."""

    anchor: str
    title: str
    names: frozenset[str]


def imported(source: str) -> Iterator[tuple[str, str]]:
    """Yield module and name of each import from the package in a program."""
    for node in ast.parse(source).body:
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("attn_docs"):
            yield from ((node.module or "", name.name) for name in node.names)


@cache
def exports() -> dict[str, tuple[str, str]]:
    """Return where each public name is defined, and the package that one imports it from."""
    found = {}
    for package in PACKAGES:
        text = (ROOT / package.replace(".", "/") / "__init__.py").read_text(encoding="utf-8")
        found |= {
            name: (module, package)
            for module, name in imported(text)
            if not name.startswith("_") and not module.endswith("._renamed")
        }
    return found


@cache
def recipes() -> tuple[Recipe, ...]:
    """Return the recipes in the order of their page."""
    found, anchor, title = [], "", ""
    for line in (DOCS / RECIPES).read_text(encoding="utf-8").splitlines():
        if heading := HEADING.match(line):
            anchor, title = heading["anchor"], heading["title"]
        if block := INCLUDE.fullmatch(line):
            source = (ROOT / block["path"]).read_text(encoding="utf-8")
            names = frozenset(name for _, name in imported(source))
            found.append(Recipe(anchor, title, names))
    return tuple(found)


def names_of(entry: str) -> dict[str, list[str]]:
    """Return the public names of an entry's modules by what they are imported from."""
    found: dict[str, list[str]] = {}
    for module in MODULE.findall(entry):
        mine = [(name, package) for name, (home, package) in exports().items() if home == module]
        if not mine:  # a module that is imported by its own name
            source = (ROOT / f"{module.replace('.', '/')}.py").read_text(encoding="utf-8")
            mine = [(offer.signature.partition("(")[0], module) for offer in offers(source)]
        for name, package in mine:
            found.setdefault(package, []).append(name)
    return found


def related(page: str) -> list[str]:
    """Return the entries that belong together with one, each once."""
    groups = tomllib.loads(RELATED.read_text(encoding="utf-8"))["groups"]
    mine = [other for group in groups if page in group for other in group]
    return [other for other in dict.fromkeys(mine) if other != page]


def head(page: str, entry: str) -> list[str]:
    """Return what stands below the title of an entry, in Markdown."""
    own, folder = page.removeprefix(API).removesuffix(".md"), page.rpartition("/")[0]
    names = names_of(entry)
    lines = [f"`from {package} import {', '.join(mine)}`" for package, mine in names.items()]
    links = [f"[{_title(o)}]({relpath(f'{API}{o}.md', folder)})" for o in related(own)]
    if links:
        lines.append(f"See also: {' · '.join(links)}")
    mine = {name for listed in names.values() for name in listed}
    home = relpath(RECIPES, folder)
    using = [f"[{r.title}]({home}#{r.anchor})" for r in recipes() if r.names & mine]
    if using:
        lines.append(f"Recipes: {' · '.join(using)}")
    return [part for line in lines for part in (line, "")]


def _title(entry: str) -> str:
    text = (DOCS / API / f"{entry}.md").read_text(encoding="utf-8")
    return next(line for line in text.splitlines() if line.startswith("# ")).removeprefix("# ")


class _Heads(Preprocessor):
    def run(self, lines: list[str]) -> list[str]:
        page = page_name(self.md)
        first = next((i for i, line in enumerate(lines) if line.startswith(":::")), None)
        if first is None or not page.startswith(API):  # its docstrings come here as well
            return lines
        return [*lines[:first], *head(page, "\n".join(lines)), *lines[first:]]


class ApiPagesExtension(Extension):
    """Registers the heads before docstrings are put in, which is done by a block processor."""

    def extendMarkdown(self, md: Markdown) -> None:  # noqa: N802
        md.preprocessors.register(_Heads(md), "api_heads", 34)
