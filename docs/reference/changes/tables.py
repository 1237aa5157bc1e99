"""What changed, by date, from `changes.toml`: one file for both languages."""

import itertools
import tomllib
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

from docs._kit.text import texts
from docs._tools.page import folders, title_of

DATA = Path(__file__).with_name("changes.toml")
REQUIRED = {"date", "kind", "en", "zh"}


class ChangeError(ValueError):
    """An entry that lacks something; the message names the file, the entry and what it is."""


def load(text: str) -> list[dict[str, Any]]:
    """Return the entries of the data file, the newest first; refuse one that lacks something."""
    entries: list[dict[str, Any]] = tomllib.loads(text)["change"]
    kinds, pages = set(texts(__file__, "kinds", "en")), set(folders())
    for number, entry in enumerate(entries, start=1):
        where = f"{DATA.name}: change {number}"
        if not REQUIRED <= set(entry) <= REQUIRED | {"page"} or not all(entry.values()):
            raise ChangeError(f"{where} must have {sorted(REQUIRED)}, maybe page; got {entry}")
        if not isinstance(entry["date"], date) or entry["kind"] not in kinds:
            raise ChangeError(
                f"{where} must have a date and a kind of {sorted(kinds)}; got {entry}"
            )
        if entry.get("page", "") not in pages:
            raise ChangeError(f"{where}: page must be a folder with a page; got {entry['page']!r}")
    dates = [entry["date"] for entry in entries]
    if dates != sorted(dates, reverse=True):
        raise ChangeError(f"{DATA.name}: the newest change must come first; got {dates}")
    return entries


def changes(language: str) -> str:
    """Return the list of changes below their dates."""
    line, kinds = texts(__file__, "line", language), texts(__file__, "kinds", language)
    shown = []
    entries = load(DATA.read_text(encoding="utf-8"))
    for day, group in itertools.groupby(entries, key=lambda entry: entry["date"]):
        lines = []
        for entry in group:
            page = entry.get("page")
            link = line["link"].format(title=title_of(page, language), page=page) if page else ""
            kind, what = kinds[entry["kind"]], entry[language]
            lines.append(line["whole"].format(kind=kind, what=what, link=link))
        shown.append(f"## {day} {{ #on-{day} }}\n\n" + "\n".join(lines))
    return "\n\n".join(shown)


TABLES: dict[str, Callable[[str], str]] = {"changes": changes}
