"""The words of a page's figures and tables, in both languages, from `text.toml` beside the page.

Each label stands there once, with its translation below it:

    [flow.title]
    en = "Latent attention from the input to the output"
    zh = "…"

Short ones may take one line: `turn = { en = "turn", zh = "…" }`. A label is a string or a list
of strings; groups of labels nest.
"""

import tomllib
from functools import cache
from pathlib import Path
from typing import Any

LANGUAGES = ("en", "zh")

Words = dict[str, Any]  # a label, its words in one language; or a group, such a dictionary


class TextError(ValueError):
    """A label that is not there, or not in both languages; the message names file and label."""


def texts(module: str, group: str, language: str) -> Words:
    """Return a group of labels in one language.

    Args:
        module: `__file__` of the module that asks: `text.toml` lies beside it.
        group: The group's name, such as "flow".
        language: "en" or "zh".

    Raises:
        TextError: If there is no such group, or a label of the file lacks a language.
    """
    file = Path(module).with_name("text.toml")
    groups = load(file)[language]
    if group not in groups:
        raise TextError(f"{_short(file)}: group must be one of {sorted(groups)}; got {group!r}")
    return {**groups[group]}  # whoever takes a word out takes it from nobody else


@cache
def load(file: Path) -> dict[str, Words]:
    """Return a whole file by language; refuse one with a label that lacks a language."""
    found = tomllib.loads(file.read_text(encoding="utf-8"))
    return {language: _in(language, found, _short(file)) for language in LANGUAGES}


def _in(language: str, group: dict[str, Any], where: str) -> Words:
    words: Words = {}
    for name, entry in group.items():
        place = f"{where}: {name}" if where.endswith(".toml") else f"{where}.{name}"
        if not isinstance(entry, dict):
            raise TextError(f"{place} must have words in en and zh; got {entry!r}")
        if not set(LANGUAGES) & set(entry):
            words[name] = _in(language, entry, place)
            continue
        if set(entry) != set(LANGUAGES):
            raise TextError(f"{place} must have words in en and zh; got {sorted(entry)}")
        kinds = {type(entry[each]) for each in LANGUAGES}
        if kinds not in ({str}, {list}) or not all(entry.values()):
            raise TextError(f"{place} must be text, or a list of texts, in both; got {entry!r}")
        words[name] = entry[language]
    return words


def _short(file: Path) -> str:
    docs = Path(__file__).parents[1]
    return f"docs/{file.relative_to(docs)}" if file.is_relative_to(docs) else str(file)
