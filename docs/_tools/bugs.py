"""The wrong layers, made from the right one: an entry of a data file each, with one line replaced.

`python -m docs._tools.bugs NAME`, for which `make new-bug NAME=…` is short, appends an entry.
"""

import ast
import re
import sys
import tomllib
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from attn_docs.testing import PROPERTIES
from docs._tools.blocks import ROOT

DATA = ROOT / "docs" / "practice" / "bugs-that-train" / "bugs.toml"
RIGHT = ROOT / "attn_docs" / "examples" / "practice" / "bugs_that_train" / "right.py"
EXHIBITS = ROOT / "attn_docs" / "exhibits"
FOLDER = EXHIBITS / "practice"
FILE = DATA.relative_to(ROOT).as_posix()
MADE = f"# Made from {FILE} by `make outputs`: edit it there.\n"
NAME = re.compile(r"[a-z][a-z0-9_]*")
TRAINS = ("same", "as well", "slower", "better", "below floor", "as without", "breaks")
REQUIRED = ("name", "property", "right", "wrong", "comment", "cause", "trains")
OPTIONAL = {"what": str, "described_in": str, "imports": str, "grouped": bool}
PLACEHOLDERS = """
[[bug]]
name = "{name}"
what = "TODO"
property = "TODO"
right = "TODO"
wrong = "TODO"
comment = "TODO"
cause = "TODO"
trains = "TODO"
"""
LEFT_TO_WRITE = """{file} has the entry {name!r}. Left to write:
1. each TODO of the entry; the head of the file says what the keys mean
2. its title in both languages, in text.toml beside the entry, under [bugs]
3. `make outputs`, which makes attn_docs/exhibits/practice/{name}.py and how the bug's fold begins;
   what it ends at with five seeds is measured by the page's benchmark
4. on the page, in both languages, under the heading of its property: the include of that beginning,
   a paragraph on the bug, and </details>, as the other bugs have it
5. `make figures`, which gives it a row in the grid of its section"""


@dataclass(frozen=True)
class Bug:
    """An entry: what the data file says about each key."""

    name: str
    what: str
    property: str
    right: str
    wrong: str
    comment: str
    cause: str
    trains: str
    grouped: bool = False
    imports: str = ""


class Bugs(NamedTuple):
    """The names of the bugs, by the page's sections and their properties; and each bug's entry."""

    sections: dict[str, dict[str, list[str]]]
    entries: dict[str, Bug]


def load() -> Bugs:
    """Return what the data file holds; refuse an entry that makes no exhibit."""
    return parse(DATA.read_text(encoding="utf-8"), RIGHT.read_text(encoding="utf-8"))


def parse(text: str, right: str) -> Bugs:
    """Return what a text of the data file's form holds, for the text of a right layer."""
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ValueError(f"{FILE} must be TOML; {error}") from error
    if set(data) != {"sections", "bug"}:
        raise ValueError(f"{FILE} must hold [sections] and [[bug]] alone; got {sorted(data)}")
    _check_sections(data["sections"])
    entries: dict[str, Bug] = {}
    for number, raw in enumerate(data["bug"], 1):
        bug = _entry(f"{FILE}: bug {raw.get('name', number)!r}", raw, right)
        _check_new(bug, entries)
        entries[bug.name] = bug
    sections = {
        section: {
            prop: [bug.name for bug in entries.values() if bug.property == prop] for prop in props
        }
        for section, props in data["sections"].items()
    }
    return Bugs(sections, entries)


def _check_sections(sections: dict[str, list[str]]) -> None:
    counts = Counter(prop for props in sections.values() for prop in props)
    for prop in [*PROPERTIES, *counts]:
        if counts[prop] != (prop in PROPERTIES):
            raise ValueError(
                f"{FILE}: sections must name each property of the checker once, and no other; "
                f"got {prop!r} {counts[prop]} times"
            )


def _entry(where: str, raw: dict[str, Any], right: str) -> Bug:
    _check_keys(where, raw)
    said = {key: value for key, value in raw.items() if key != "described_in"}
    if "described_in" in raw:
        said["what"] = _sentence(where, raw["described_in"])
    bug = Bug(**said)
    if not NAME.fullmatch(bug.name):
        raise ValueError(f"{where}: name must be a file's, such as zero_fill; got {bug.name!r}")
    if bug.property not in PROPERTIES:
        known = ", ".join(PROPERTIES)
        raise ValueError(f"{where}: property must be one of {known}; got {bug.property!r}")
    if bug.trains not in TRAINS:
        raise ValueError(f"{where}: trains must be one of {', '.join(TRAINS)}; got {bug.trains!r}")
    if bug.wrong == bug.right:
        raise ValueError(f"{where}: wrong must differ from right; got {bug.wrong!r} for both")
    try:
        ast.parse(exhibit(bug, right))
    except SyntaxError as error:
        raise ValueError(f"{where}: wrong must be a line of Python; got {bug.wrong!r}") from error
    except ValueError as error:
        raise ValueError(f"{where}: {error}") from error
    return bug


def _check_keys(where: str, raw: dict[str, Any]) -> None:
    types = {**dict.fromkeys(REQUIRED, str), **OPTIONAL}
    missing = [key for key in REQUIRED if key not in raw]
    if missing:
        raise ValueError(f"{where}: an entry must have {', '.join(REQUIRED)}; {missing} is missing")
    for key, value in raw.items():
        if key not in types:
            raise ValueError(f"{where}: a key must be one of {', '.join(types)}; got {key!r}")
        if not isinstance(value, types[key]):
            raise TypeError(f"{where}: {key} must be a {types[key].__name__}; got {value!r}")
        if isinstance(value, str) and (not value.strip() or "TODO" in value or "\n" in value):
            raise ValueError(f"{where}: {key} must be filled in, in one line; got {value!r}")
    if ("what" in raw) == ("described_in" in raw):
        got = "both" if "what" in raw else "neither"
        raise ValueError(f"{where}: an entry must have what or described_in; got {got}")
    for path in EXHIBITS.glob(f"*/{raw['name']}.py"):
        if "what" in raw and path.parent.name != FOLDER.name:
            place = path.relative_to(EXHIBITS).with_suffix("").as_posix()
            raise ValueError(
                f"{where}: a fault must be described once, so here by described_in = {place!r}; "
                f"got what = {raw['what']!r}"
            )


def _sentence(where: str, place: str) -> str:
    """Return what a chapter's exhibit says about its fault."""
    path = EXHIBITS / f"{place}.py"
    source = path.read_text(encoding="utf-8") if path.is_file() else ""
    said = re.match(r'"""Bug: (.+)\."""\n', source)
    if said is None:
        raise ValueError(
            f"{where}: described_in must name an exhibit whose first line says its bug, such as "
            f"heads/tiled_key_heads; got {place!r}"
        )
    return said[1]


def _check_new(bug: Bug, entries: dict[str, Bug]) -> None:
    where = f"{FILE}: bug {bug.name!r}"
    if bug.name in entries:
        raise ValueError(f"{where}: name must be new; got it twice")
    for other in entries.values():
        if (bug.right, bug.wrong) == (other.right, other.wrong):
            raise ValueError(f"{where}: its two lines must be new; got those of {other.name!r}")


def exhibit(bug: Bug, right: str) -> str:
    """Return the file of a bug: the right layer, with one line replaced."""
    lines = right.splitlines()
    found = [i for i, line in enumerate(lines) if line.partition("  # ")[0].strip() == bug.right]
    if len(found) != 1:
        raise ValueError(
            f"right must be one line of {RIGHT.relative_to(ROOT).as_posix()}, without its comment; "
            f"got {bug.right!r}, which is there {len(found)} times"
        )
    (place,) = found
    indent = lines[place][: -len(lines[place].lstrip())]
    lines[place] = f"{indent}{bug.wrong}  # wrong: {bug.comment}"
    if bug.imports:
        lines.insert(lines.index("import torch") + 1, bug.imports)
    return f'{MADE}"""Bug: {bug.what}."""\n\n' + "\n".join(lines) + "\n"


def exhibits() -> dict[Path, str]:
    """Return what each entry makes now, by its file; refuse a folder that holds another file."""
    right = RIGHT.read_text(encoding="utf-8")
    files = {FOLDER / f"{bug.name}.py": exhibit(bug, right) for bug in load().entries.values()}
    strays = sorted({*FOLDER.glob("*.py")} - {*files, FOLDER / "__init__.py"})
    if strays:
        names = ", ".join(path.relative_to(ROOT).as_posix() for path in strays)
        raise ValueError(f"{FILE} must have an entry for each exhibit; got none for {names}")
    return files


def write_exhibits() -> None:
    """Write the exhibits, or stop and say which entry makes none."""
    try:
        files = exhibits()
    except (TypeError, ValueError) as error:
        sys.exit(str(error))
    for path, text in files.items():
        path.write_text(text, encoding="utf-8")


def append(name: str) -> None:
    """Append an entry with placeholders, and print what is left to write."""
    if not NAME.fullmatch(name):
        sys.exit(f"NAME must be in lower case with underscores, such as zero_fill; got {name!r}")
    text = DATA.read_text(encoding="utf-8")
    if name in (bug.get("name") for bug in tomllib.loads(text)["bug"]):
        sys.exit(f"NAME must be new; {FILE} has an entry {name!r}")
    DATA.write_text(text + PLACEHOLDERS.format(name=name), encoding="utf-8")
    print(LEFT_TO_WRITE.format(file=FILE, name=name))


if __name__ == "__main__":
    append(sys.argv[1] if len(sys.argv) == 2 else "")
