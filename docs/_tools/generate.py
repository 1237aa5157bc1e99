"""Rewrite what is generated: `figures` or `outputs`.

The outputs are exhibits of bugs, `#>` lines, tables, numbers and addresses.

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
from docs._tools.page import DOCS, modules

ENDINGS = {"FIGURES": ".svg", "TABLES": ".md"}
ADDRESSES = blocks.ROOT / "tests" / "site" / "addresses.txt"
LANGUAGES = {"en": "", "zh": ".zh"}


def stored(kind: str) -> set[Path]:
    """Return the files that are there of what FIGURES or TABLES make."""
    return set(DOCS.glob(f"**/made/*{ENDINGS[kind]}"))


def generated(kind: str) -> dict[Path, str]:
    """Return what every function in FIGURES or TABLES makes now, by the file it belongs in."""
    return {
        DOCS / folder / "made" / f"{name}{suffix}{ENDINGS[kind]}": make(language).rstrip("\n")
        + "\n"
        for folder, module in modules()
        for name, make in getattr(module, kind, {}).items()
        for language, suffix in LANGUAGES.items()
    }


def numbers() -> dict[Path, dict[str, str]]:
    """Return every number that sentences may name, as its code computes it now, by its file."""
    found: dict[Path, dict[str, str]] = {}
    for folder, module in modules():
        if hasattr(module, "numbers"):
            found.setdefault(DOCS / folder / "made" / "numbers.json", {}).update(module.numbers())
    return found


def rewrite_outputs() -> None:
    """Rewrite the `#>` lines of every example and docstring."""
    for path in sorted((blocks.ROOT / "attn_docs").rglob("*.py")):
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


def write(kind: str) -> None:
    """Write the figures or tables and delete what no code makes any more."""
    files = generated(kind)
    for old in stored(kind) - set(files):
        old.unlink()
    for path, text in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def write_numbers(site: Path | None) -> None:
    """Write the numbers that the build reads; the home page shows the counts of a built site."""
    files = numbers()
    home = files.setdefault(DOCS / "made" / "numbers.json", {})
    home.update(count(site))
    for path, named in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(named, indent=2, sort_keys=True) + "\n", encoding="utf-8")


def main() -> None:
    """Rewrite what the command line names."""
    if os.environ.get("CI"):
        sys.exit("generated files are written by a person, who reads the change: not under CI")
    if sys.argv[1:] == ["figures"]:
        write("FIGURES")
    elif sys.argv[1:] == ["outputs"]:
        bugs.write_exhibits()
        rewrite_outputs()
        write("TABLES")
        write_numbers(None)  # a site needs numbers to be built
        with tempfile.TemporaryDirectory() as site:
            command = [sys.executable, "-m", "mkdocs", "build", "--quiet", "--site-dir", site]
            subprocess.run(command, check=True, cwd=blocks.ROOT)  # noqa: S603
            write_numbers(Path(site))
            # only a person takes an address off the list
            listed = {*ADDRESSES.read_text(encoding="utf-8").split(), *addresses(Path(site))}
            ADDRESSES.write_text("\n".join(sorted(listed)) + "\n", encoding="utf-8")
    else:
        sys.exit("usage: python -m docs._tools.generate outputs|figures")


if __name__ == "__main__":
    main()
