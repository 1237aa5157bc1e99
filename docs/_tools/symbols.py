"""The table of symbols: it links a chapter's formulas with its lines of code.

`symbols.toml` of the Notation page holds what means the same on every page. That of a chapter adds
what is the chapter's own, and the line of code that computes, or takes in, each symbol of its
formulas.
"""

import re
import tomllib
from functools import cache
from html import escape, unescape
from typing import Any

from docs._kit.text import texts
from docs._tools.formulas import CONVERTER
from docs._tools.page import DOCS, folders, place_of

NOTATION = "reference/notation"
SECTION = re.compile(r'<h2 id="the-formula".*?(?=<h2 |$)', re.S)
FORMULAS = re.compile(r'(?:<div class="formula".*?</div>\s*)+', re.S)
BLOCK = re.compile(r'(<span class="filename">([^<]+)<.*?<code>)(.*?)(?=</code>)', re.S)
UNDER = '<div class="symbols" data-search-exclude><p>{}{}</p><p aria-live="polite"></p></div>\n'


class SymbolError(ValueError):
    """A symbol that lacks its line of code or a language; the message names file and symbol."""


Lines = dict[tuple[str, str], list[str]]  # file and text of a line -> the symbols it computes


def load(folder: str) -> dict[str, Any]:
    """Return the table of a page; empty where it has none."""
    path = DOCS / folder / "symbols.toml"
    return tomllib.loads(path.read_text("utf-8")) if path.is_file() else {}


@cache
def pages() -> dict[str, Any]:
    """Return each chapter's `symbols` and its `unlinked` words, by the chapter's folder."""
    common = {key: of for group in load(NOTATION).values() for key, of in group.items()}
    found = {f: page for f in folders() if f != NOTATION and (page := load(f))}
    for folder, page in found.items():
        for key, own in page["symbols"].items():
            symbol = {"tex": key, "file": page["file"], **common.get(key, {}), **own}
            if lacking := {"line", "en", "zh"} - set(symbol):
                raise SymbolError(f"docs/{folder}/symbols.toml: {key} must have {sorted(lacking)}")
            symbol["tex"] = [symbol["tex"]] if isinstance(symbol["tex"], str) else symbol["tex"]
            page["symbols"][key] = symbol
    return found


def link(page: str, html: str) -> str:
    """Return a page in which the symbols of its formulas and the lines of its code are linked."""
    if 'id="the-formula"' not in html:  # headings also come alone
        return html
    place = place_of(page)
    symbols, language = pages().get(place.folder, {}).get("symbols", {}), place.language
    if not symbols:
        return html
    spelled = {_pattern(tex): (key, tex) for key in symbols for tex in symbols[key]["tex"]}
    patterns = sorted(spelled, key=len, reverse=True)  # W_Q before W
    lines: Lines = {}
    for key, symbol in symbols.items():
        lines.setdefault((symbol["file"], symbol["line"]), []).append(key)
    missing = {*spelled.values(), *lines}

    def mark_formulas(formulas: re.Match[str]) -> str:
        here = set()

        def mark(match: re.Match[str]) -> str:
            key, tex = spelled[patterns[(match.lastindex or 0) - 1]]
            here.add(key)
            missing.discard((key, tex))
            return f'<mrow data-symbol="{key}">{match[0]}</mrow>'

        html = re.sub("|".join(f"({pattern})" for pattern in patterns), mark, formulas[0])
        links = "".join(_link(key, lines, symbols[key], language) for key in symbols if key in here)
        return html + UNDER.format(texts(__file__, "symbols", language)["lead"], links)

    def mark_lines(block: re.Match[str]) -> str:
        code = block[3].split("\n")
        texts = [unescape(re.sub("<span class=.sd.*|<[^>]*>", "", text)) for text in code]
        for (file, line), keys in lines.items():
            at = [i for i, text in enumerate(texts) if file == block[2] and line in text]
            if len(at) == 1:
                missing.discard((file, line))
                stop = f'id="code-{keys[0]}" data-symbol="{" ".join(keys)}" tabindex="0"'
                code[at[0]] = re.sub("^( *)(.*)", rf"\1<bdi {stop}>\2</bdi>", code[at[0]])
        return block[1] + "\n".join(code)

    html = SECTION.sub(lambda section: FORMULAS.sub(mark_formulas, section[0]), html)
    html = BLOCK.sub(mark_lines, html)
    if missing:
        raise ValueError(f"{page}: not in a formula, or not in one line of code: {sorted(missing)}")
    return html


def _link(key: str, lines: Lines, symbol: dict[str, str], language: str) -> str:
    letter, _, index = key.partition("_")
    letter = unescape(f"&{letter};").strip("&;")  # sigma is σ
    label = escape(re.sub("[$`]", "", f"{letter}{_}{index}: {symbol[language]}"))
    place = f"#code-{lines[symbol['file'], symbol['line']][0]}"
    text = letter + (f"<sub>{index}</sub>" if index else "")
    return f' <a href="{place}" data-symbol="{key}" aria-label="{label}">{text}</a>'


def _pattern(tex: str) -> str:
    row = CONVERTER.convert_with_local_state(tex, displaystyle=True)
    row = row.partition("<semantics>")[2].partition("<annotation")[0]
    row = row.removeprefix("<mrow>").removesuffix("</mrow>") if row[:6] == "<mrow>" else row
    # spacing, which is in attributes, and the tag of a function depend on what stands around
    row = re.sub(r"<(\w+)[^>]*>", r"<\1\\b[^>]*>", re.escape(row)).replace("</mi>", "</m[io]>")
    return row.replace(r"<mspace\b[^>]*><mi\b", r"(?:<mspace\b[^>]*><mi|<mo)\b")
