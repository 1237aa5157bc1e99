"""A page is a folder below docs/: the one place that knows which folder a page, or a file, is of.

`docs/foundations/masks/` holds the page, `index.md`, its translation, `index.zh.md`, and all that
it is made of. Its address is `/foundations/masks/`. The home page's folder is docs/ itself. An
entry of the API reference, `docs/reference/api/**.md`, is made of a docstring and has no folder.
"""

import importlib
import re
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

from markdown import Markdown

DOCS = Path(__file__).parents[1]
CONFIG = DOCS.parent / "mkdocs.yml"
PAGE = re.compile(r"(?:(?P<folder>[a-z0-9-]+(?:/[a-z0-9-]+)*)/)?index(?P<chinese>\.zh)?\.md")
ENTRY = re.compile(r"(?P<folder>reference/api(?:/[a-z0-9-]+)+)\.md")
# the modules of a page's folder that draw, compute and measure what the page shows
MODULES = ("figures", "tables", "benchmark")


class MisplacedPageError(ValueError):
    """A page that is not where pages are; the message names it."""


class Place(NamedTuple):
    """Where a page belongs: its folder below docs/, which is its address too, and its language."""

    folder: str
    language: str

    @property
    def name(self) -> str:
        """Return what its numbers and takeaways are named by: the last part of the address."""
        return self.folder.rpartition("/")[2] or "index"

    @property
    def is_chapter(self) -> bool:
        """Tell the chapters from the home page, the paths, the primers and the reference."""
        others = ("explore/", "primer/", "reference/")
        return "/" in self.folder and not self.folder.startswith(others)


def place_of(source: str) -> Place:
    """Return the place of a page from its path below docs/, such as "foundations/masks/index.md".

    Raises:
        MisplacedPageError: If the path is not `<folder>/index.md`, `<folder>/index.zh.md` or an
            entry of the API reference.
    """
    found = PAGE.fullmatch(source) or ENTRY.fullmatch(source)
    if found is None:
        raise MisplacedPageError(
            f"docs/{source}: a page must be index.md or index.zh.md in a folder of its own, with "
            "lower-case words and hyphens, or an entry of reference/api"
        )
    chinese = found.groupdict().get("chinese")
    return Place(found["folder"] or "", "zh" if chinese else "en")


def folder_of(made: Path) -> str:
    """Return the folder of the page that a file in `made/` belongs to."""
    folder = made.parents[1].relative_to(DOCS).as_posix()
    return "" if folder == "." else folder


def sources() -> list[str]:
    """Return every page's path below docs/, translations and the API's entries too, sorted."""
    files = (path.relative_to(DOCS) for path in DOCS.rglob("*.md"))
    return sorted(
        file.as_posix()
        for file in files
        if not file.parts[0].startswith("_") and file.parent.name != "made"
    )


def folders() -> list[str]:
    """Return the folder of every page but the entries of the API, in the order of reading."""
    listed = CONFIG.read_text(encoding="utf-8")
    pages = [source for source in sources() if Path(source).name == "index.md"]
    # what moved has left the navigation
    order = {page: listed.find(f"- {page}\n") % len(listed) for page in pages}
    return [place_of(page).folder for page in sorted(order, key=lambda page: order[page])]


def title_of(folder: str, language: str) -> str:
    """Return the title of a page, as its first heading says it."""
    name = {"en": "index.md", "zh": "index.zh.md"}[language]
    lines = (DOCS / folder / name).read_text(encoding="utf-8").splitlines()
    heading = next(line for line in lines if line.startswith("# "))
    return heading.removeprefix("# ").partition(" {")[0]


def page_module(folder: str, name: str) -> ModuleType:
    """Import a module of a page's folder, whose name may hold hyphens."""
    parts = ["docs", *folder.split("/"), name] if folder else ["docs", name]
    return importlib.import_module(".".join(parts))


def modules() -> Iterator[tuple[str, ModuleType]]:
    """Yield every module that makes something for a page, with the page's folder."""
    for folder in folders():
        for name in MODULES:
            if (DOCS / folder / f"{name}.py").is_file():
                yield folder, page_module(folder, name)


def page_name(md: Markdown) -> str:
    """Return the path below docs/ of the page that is converted, under MkDocs and Zensical."""
    if "relpath" in md.treeprocessors:  # MkDocs
        return str(md.treeprocessors["relpath"].file.src_uri)
    # Zensical, whose pages docs/_tools/zensical.py places
    if "rendering_context" in md.preprocessors:
        path = str(md.preprocessors["rendering_context"].page.path)
        chinese = path.removeprefix("zh/").removesuffix(".md") + ".zh.md"
        return chinese if path.startswith("zh/") else path
    return "a docstring in the API reference"
