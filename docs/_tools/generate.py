"""Rewrite what is generated: `figures` or `outputs`, of all pages or of the one that is named.

The outputs are `#>` lines, tables and numbers, and of the whole site exhibits of bugs, counts and
addresses too.

The modules in a page's folder say what the page needs: `FIGURES` and `TABLES` map a name to a
function of the language ("en" or "zh"), `numbers()` returns the numbers that its sentences use, as
text. All that they make is written to `made/` beside them.
"""

import json
import os
import re
import subprocess
import sys
import tempfile
import textwrap
from pathlib import Path

from docs._tools import blocks, bugs
from docs._tools.built import addresses, count
from docs._tools.cards import write as write_cards
from docs._tools.glance import cards
from docs._tools.page import DOCS, folders, modules

ENDINGS = {"FIGURES": ".svg", "TABLES": ".md"}
ADDRESSES = blocks.ROOT / "tests" / "site" / "addresses.txt"
LANGUAGES = {"en": "", "zh": ".zh"}


def stored(kind: str) -> set[Path]:
    """Return the files that are there of what FIGURES or TABLES make."""
    return set(DOCS.glob(f"**/made/*{ENDINGS[kind]}"))


def generated(kind: str, page: str = "") -> dict[Path, str]:
    """Return what every function in FIGURES or TABLES makes now, by the file it belongs in.

    The cards at the heads of chapters are Markdown, as the tables are.
    """
    return (cards(page) if kind == "TABLES" else {}) | {
        DOCS / folder / "made" / f"{name}{suffix}{ENDINGS[kind]}": make(language).rstrip() + "\n"
        for folder, module in modules()
        if page in ("", folder)
        for name, make in getattr(module, kind, {}).items()
        for language, suffix in LANGUAGES.items()
    }


def numbers(page: str = "") -> dict[Path, dict[str, str]]:
    """Return every number that sentences may name, as its code computes it now, by its file."""
    found: dict[Path, dict[str, str]] = {}
    for folder, module in modules():
        if page in ("", folder) and hasattr(module, "numbers"):
            found.setdefault(DOCS / folder / "made" / "numbers.json", {}).update(module.numbers())
    return found


def rewrite_outputs(page: str = "") -> None:
    """Rewrite the `#>` lines of every example and docstring, or of those of a page."""
    package = page.replace("-", "_")
    for path in sorted((blocks.ROOT / "attn_docs").rglob("*.py")):
        place = path.relative_to(blocks.ROOT / "attn_docs").with_suffix("").as_posix()
        if not re.match(rf"(examples/)?{package}(/|$)" if page else "", place):
            continue
        source = path.read_text(encoding="utf-8")

        def renewed(match: re.Match[str], path: Path = path) -> str:
            block = textwrap.dedent(match["source"])
            new = textwrap.indent(run(block, path), match["indent"])
            return f"{match['indent']}```python\n{new}{match['indent']}```"

        new = blocks.DOCSTRING_BLOCK.sub(renewed, source)
        if {"examples", "exhibits"} & set(path.parts) and path.name != "__init__.py":
            new = run(new, path)
        if new != source:
            path.write_text(new, encoding="utf-8")


def run(source: str, path: Path) -> str:
    """Return a block with the `#>` lines of a fresh run."""
    try:
        if blocks.skip_reason(source):
            return source
        return blocks.with_outputs(source, blocks.run(source))
    except blocks.BlockError as error:
        sys.exit(f"{path.relative_to(blocks.ROOT)}: {error}")


def write(kind: str, page: str = "") -> None:
    """Write the figures or tables and delete what no code makes any more."""
    files = generated(kind, page)
    for old in stored(kind) - set(files):
        if not page or old.is_relative_to(DOCS / page):
            old.unlink()
    for path, text in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def write_numbers(files: dict[Path, dict[str, str]]) -> None:
    """Write the numbers that the build reads."""
    for path, named in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(named, indent=2, sort_keys=True) + "\n", encoding="utf-8")


def write_counts(site: Path | None) -> None:
    """Write the counts of a built site, which the home page shows, among its numbers."""
    home = DOCS / "made" / "numbers.json"
    stored = json.loads(home.read_text(encoding="utf-8"))
    write_numbers({home: {**stored, **count(site)}})


def write_all_outputs() -> None:
    """Rewrite the outputs of all pages, and what is counted and listed of the built site."""
    bugs.write_exhibits()
    rewrite_outputs()
    write("TABLES")
    write_numbers(numbers())
    write_counts(None)  # a site needs numbers to be built
    with tempfile.TemporaryDirectory() as site:
        command = [sys.executable, "-m", "mkdocs", "build", "--quiet", "--site-dir", site]
        subprocess.run(command, check=True, cwd=blocks.ROOT)  # noqa: S603
        write_counts(Path(site))
        # only a person takes an address off the list
        listed = {*ADDRESSES.read_text(encoding="utf-8").split(), *addresses(Path(site))}
        ADDRESSES.write_text("\n".join(sorted(listed)) + "\n", encoding="utf-8")


def main(what: str, page: str) -> None:
    """Rewrite what the command line names."""
    if os.environ.get("CI"):
        sys.exit("generated files are written by a person, who reads the change: not under CI")
    if what not in ("figures", "outputs") or page not in ("", *folders()):
        sys.exit("usage: python -m docs._tools.generate outputs|figures [<part>/<page>]")
    if what == "figures":
        write("FIGURES", page)
        write_cards(page)
    elif page:
        rewrite_outputs(page)
        write("TABLES", page)
        write_numbers(numbers(page))
    else:
        write_all_outputs()


if __name__ == "__main__":
    main(*(sys.argv[1:] + [""] * 3)[:2])
