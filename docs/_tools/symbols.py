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
BLOCK = re.compile(
    r'(?P<head><span class="filename">(?P<file>[^<]+)</span><pre><span></span><code>)'
    r"(?P<code>.*?)(?=</code>)",
    re.S,
)
HINTS = (
    "Point at a symbol, or tap it: here is what it means, and the line of code that computes it.",
    "把鼠标移到一个符号上，或者点一下它：这里会显示它的含义，以及计算它的那行代码。",
)
LINE = '<p class="computed" data-search-exclude aria-live="polite">{}</p>'


class SymbolError(ValueError):
    """A symbol that is not in the formulas, or not in the code; the message names page and key."""


@cache
def pages() -> dict[str, dict[str, Any]]:
    """Return each chapter's `symbols`, complete, and its `unlinked` letters, by its address."""
    tables = {path.stem: tomllib.loads(path.read_text("utf-8")) for path in FOLDER.glob("*.toml")}
    common = {key: of for group in tables.pop("notation").values() for key, of in group.items()}
    found = {f"{part}/{name}": page for part in tables for name, page in tables[part].items()}
    for address, page in found.items():
        for key, own in page["symbols"].items():
            symbol = {"tex": key, "file": page["file"], **common.get(key, {}), **own}
            if not {"line", "en", "zh"} <= symbol.keys():
                raise SymbolError(f"{address}: {key} needs a line, and its meaning in en and zh")
            symbol["tex"] = [symbol["tex"]] if isinstance(symbol["tex"], str) else symbol["tex"]
            page["symbols"][key] = symbol
    return found


def symbols(page: str) -> dict[str, dict[str, Any]]:
    """Return the symbols of a page, given its file below docs/; none where it links none."""
    found = pages().get(page.removesuffix(".md").removesuffix(".zh"), {})
    return found.get("symbols", {})  # type: ignore[no-any-return]


def mark_formula(page: str, mathml: str, convert: Callable[[str], str]) -> tuple[str, set[str]]:
    """Return a formula with its symbols marked, and the spellings that were found in it."""
    formula, annotation, rest = mathml.partition("<annotation")
    language = "zh" if page.endswith(".zh.md") else "en"
    spelled = {tex: key for key, symbol in symbols(page).items() for tex in symbol["tex"]}
    rows = {tex: _row(convert(tex)) for tex in spelled}
    stash, found, seen = [], set(), set()
    for tex in sorted(rows, key=lambda tex: -len(rows[tex])):  # W_Q before W

        def keep(match: re.Match[str], tex: str = tex) -> str:
            found.add(tex)
            stash.append((tex, match[0]))
            return f"\x02{len(stash) - 1}\x03"

        formula = re.sub(_pattern(rows[tex]), keep, formula)

    def put_back(match: re.Match[str]) -> str:
        tex, row = stash[int(match[1])]
        key, stop = spelled[tex], ""
        if key not in seen:  # one of its places can be reached with the keyboard
            meaning = re.sub("[$`]", "", symbols(page)[key][language])
            label = escape(f"{_plain(tex, convert)}: {meaning}")
            stop = f' tabindex="0" role="button" aria-label="{label}"'
        seen.add(key)
        return f'<mrow data-symbol="{key}"{stop}>{row}</mrow>'

    return re.sub("\x02(\\d+)\x03", put_back, formula) + annotation + rest, found


def _row(mathml: str) -> str:
    return mathml.partition("<semantics>")[2].partition("<annotation")[0]


def _pattern(row: str) -> str:
    # spacing, an attribute, depends on what stands around
    tags = re.sub(
        r"<(\w+)[^>]*>|[^<]+|</\w+>",
        lambda part: rf"<{part[1]}\b[^>]*>" if part[1] else re.escape(part[0]),
        row,
    )
    inner = re.fullmatch(r"<mrow\\b\[\^>\]\*>(.*)</mrow>", tags)
    return f"{tags}|{inner[1]}" if inner else tags


def _plain(tex: str, convert: Callable[[str], str]) -> str:
    def letter(command: re.Match[str]) -> str:
        return re.sub("<[^>]*>", "", _row(convert(command[0])))

    return re.sub(r"\\\w+", letter, re.sub(r"\\operatorname|\\text|[{}]", "", tex))


def mark_code(page: str, html: str) -> str:
    """Return a page with the lines marked that compute the symbols of its formulas."""
    missing = symbols(page).copy()

    def mark(block: re.Match[str]) -> str:
        lines = block["code"].split("\n")
        texts = [unescape(re.sub("<[^>]*>", "", line)) for line in lines]
        computes: dict[int, list[str]] = {}
        for key, symbol in symbols(page).items():
            if symbol["file"] == block["file"]:
                at = [i for i, text in enumerate(texts) if symbol["line"] in text]
                if len(at) != 1 or 'class="sd"' in lines[at[0]]:
                    raise SymbolError(f"{page}: {key}: {symbol['line']!r} is in {len(at)} lines")
                computes.setdefault(at[0], []).append(key)
                missing.pop(key, None)
        for i, keys in computes.items():
            code = lines[i].lstrip(" ")
            stop = f'id="code-{keys[0]}" data-symbol="{" ".join(keys)}" tabindex="0" role="button"'
            lines[i] = f"{lines[i][: -len(code)]}<span {stop}>{code}</span>"
        return block["head"] + "\n".join(lines)

    html, blocks = BLOCK.subn(mark, html)
    if missing and blocks:  # headings come alone, for the table of contents
        raise SymbolError(f"{page}: no block with the line of {', '.join(missing)}")
    return html
