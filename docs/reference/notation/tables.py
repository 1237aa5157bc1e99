"""The symbols of the site, from the table that links formulas with lines of code."""

from docs._kit.markdown import table
from docs._kit.text import texts
from docs._tools.page import title_of
from docs._tools.symbols import NOTATION, load, pages


def spelled(key: str, symbol: dict) -> str:
    """Return a symbol as its formula writes it."""
    tex = symbol.get("tex", key)
    return f"${tex if isinstance(tex, str) else tex[0]}$"


def chapter(page: str, language: str) -> str:
    """Return a link to the formulas of a chapter."""
    return f"[{title_of(page, language)}](../../{page}/index.md#the-formula)"


def common(group: str, language: str) -> str:
    """Return the symbols that mean the same in every chapter but those that say otherwise."""
    rows = []
    for key, symbol in load(NOTATION)[group].items():
        shape = (f"${symbol['shape']}$",) if "shape" in symbol else ()
        rows.append((spelled(key, symbol), symbol[language], symbol["name"], *shape))
    return left(texts(__file__, "headers", language)[group], rows)


def sizes(language: str) -> str:
    """Return what letters count."""
    return common("sizes", language)


def tensors(language: str) -> str:
    """Return the symbols of tensors, with shapes, and of what is done to them."""
    return common("tensors", language)


def chapters(language: str) -> str:
    """Return the symbols that have a meaning of their own in a chapter."""
    found: dict[tuple[str, str], list[str]] = {}
    for page in pages():
        for key, symbol in load(page)["symbols"].items():
            if language in symbol:
                row = spelled(key, symbol), symbol[language]
                found.setdefault(row, []).append(chapter(page, language))
    joined = texts(__file__, "chapters", language)["joined"]
    rows = [(*row, joined.join(links)) for row, links in found.items()]
    return left(texts(__file__, "headers", language)["chapters"], rows)


def left(header: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    """Return a table of words: its columns are aligned to the left."""
    return table(header, rows).replace("---:", "---")


TABLES = {"sizes": sizes, "tensors": tensors, "chapters": chapters}
