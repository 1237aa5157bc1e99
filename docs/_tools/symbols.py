"""The one table of symbols: it links a chapter's formulas with the lines of its code.

`symbols/notation.toml` holds what means the same on every page, the file of each part what its
chapters add, and the line of code that computes, or takes in, each symbol of their formulas.
"""

import re
import tomllib
from collections.abc import Callable
from functools import cache
from html import escape, unescape
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent / "symbols"
BLOCK = re.compile(r'(<span class="filename">([^<]+)<.*?<code>)(.*?)(?=</code>)', re.S)
LEADS = ("In the code:", "在代码中：")


@cache
def pages() -> dict[str, Any]:
    """Return each chapter's `symbols` and its `unlinked` words, by the chapter's address."""
    tables = {path.stem: tomllib.loads(path.read_text("utf-8")) for path in FOLDER.glob("*.toml")}
    common = {key: of for group in tables.pop("notation").values() for key, of in group.items()}
    found = {f"{part}/{name}": page for part in tables for name, page in tables[part].items()}
    for page in found.values():
        for key, own in page["symbols"].items():
            symbol = {"tex": key, "file": page["file"], **common.get(key, {}), **own}
            symbol["tex"] = [symbol["tex"]] if isinstance(symbol["tex"], str) else symbol["tex"]
            page["symbols"][key] = symbol
    return found


def symbols(page: str) -> dict[str, dict[str, Any]]:
    """Return the symbols of a page, given its file below docs/; none where it links none."""
    found: dict[str, dict[str, Any]] = pages().get(re.sub(r"(\.zh)?\.md$", "", page), {})
    return found.get("symbols", {})


def mark_formula(page: str, mathml: str, convert: Callable[[str], str], found: list[str]) -> str:
    """Return a formula with its symbols marked; add the spellings it holds to those found."""
    formula, annotation, tex = mathml.partition("<annotation")
    keys = {tex: key for key, symbol in symbols(page).items() for tex in symbol["tex"]}
    spelled = {_pattern(convert(tex)): tex for tex in keys}
    patterns = sorted(spelled, key=len, reverse=True)

    def mark(match: re.Match[str]) -> str:
        found.append(spelled[patterns[(match.lastindex or 0) - 1]])
        return f'<mrow data-symbol="{keys[found[-1]]}">{match[0]}</mrow>'

    return re.sub("|".join(f"({one})" for one in patterns), mark, formula) + annotation + tex


def links(page: str, found: list[str]) -> str:
    """Return what stands under formulas: a link for each symbol found, and room for its meaning."""
    chinese = page.endswith(".zh.md")
    html = LEADS[chinese]
    for key, symbol in symbols(page).items():
        if not set(found).isdisjoint(symbol["tex"]):
            line = next(k for k, s in symbols(page).items() if s["line"] == symbol["line"])
            letter, _, index = key.partition("_")
            letter = unescape(f"&{letter};").strip("&;")  # sigma is σ
            name = f"{letter}_{index}" if index else letter
            label = escape(f"{name}: {re.sub('[$`]', '', symbol['zh' if chinese else 'en'])}")
            text = f"{letter}<sub>{index}</sub>" if index else letter
            html += f' <a href="#code-{line}" data-symbol="{key}" aria-label="{label}">{text}</a>'
    return f'<div class="symbols" data-search-exclude><p>{html}</p><p aria-live="polite"></p></div>'


def _pattern(mathml: str) -> str:
    row = mathml.partition("<semantics>")[2].partition("<annotation")[0]
    row = row.removeprefix("<mrow>").removesuffix("</mrow>") if row[:6] == "<mrow>" else row
    # spacing, which is in attributes, depends on what stands around
    return re.sub(r"<(\w+)[^>]*>", r"<\1\\b[^>]*>", re.escape(row))


def mark_code(page: str, html: str) -> str:
    """Return a page with the lines marked that compute the symbols of its formulas."""
    missing = set(symbols(page))

    def mark(block: re.Match[str]) -> str:
        lines = block[3].split("\n")
        computes: dict[int, list[str]] = {}
        for key, symbol in symbols(page).items():
            if symbol["file"] == block[2]:
                text = symbol["line"]
                at = [
                    i for i, line in enumerate(lines) if text in unescape(re.sub("<.*?>", "", line))
                ]
                if len(at) != 1 or 'class="sd"' in lines[at[0]]:
                    raise ValueError(f"{page}: {key}: {text!r} must be in one line; got {len(at)}")
                computes.setdefault(at[0], []).append(key)
                missing.discard(key)
        for i, keys in computes.items():
            stop = f'id="code-{keys[0]}" data-symbol="{" ".join(keys)}" tabindex="0"'
            lines[i] = re.sub("^( *)(.*)", rf"\1<span {stop}>\2</span>", lines[i])
        return block[1] + "\n".join(lines)

    html, blocks = BLOCK.subn(mark, html)
    if missing and blocks:  # headings come alone, for the table of contents
        raise ValueError(f"{page}: no block shows the line of {', '.join(sorted(missing))}")
    return html
