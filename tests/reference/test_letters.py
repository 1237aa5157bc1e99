"""On one page a letter means one thing: in formulas, symbol tables and the words of figures."""

import re
from pathlib import Path

import pytest

from docs._tools.blocks import ROOT
from docs._tools.page import DOCS
from docs._tools.symbols import NOTATION, load
from tests.kit import parse

PAGES = sorted(DOCS.glob("*/*/index*.md"))
SIZES = set(load(NOTATION)["sizes"])
LETTER = r"(?<![A-Za-z\\_^{'])([A-Za-z])(?![A-Za-z_^'({])"  # bare: no part of a name, no index

page_by_page = pytest.mark.parametrize(
    "text",
    [page.read_text(encoding="utf-8") for page in PAGES],
    ids=[page.relative_to(DOCS).as_posix() for page in PAGES],
)


def formulas(text: str) -> str:
    """Return all formulas of a text, displayed and in sentences."""
    shown = re.findall(r"\$\$(.*?)\$\$", text, re.DOTALL)
    return " ".join(shown + re.findall(r"(?<!\$)\$([^$\n]+)\$(?!\$)", text))


def symbol_table(text: str) -> list[list[str]]:
    """Return the rows of the tables of symbols: those whose first cell is a formula alone."""
    rows = [line.strip("|\n ").split(" | ") for line in text.splitlines() if line.startswith("| $")]
    return [r for r in rows if len(r) == 3 and not re.sub(r"\$[^$]+\$", "", r[0]).strip(" ,、")]


def clashes(text: str) -> set[str]:
    """Return the letters that a page uses for two things.

    A symbol of a table has one row. A size in the column of shapes is not the letter of a vector or
    of a number with an index as well. What a sum runs over is neither of them, nor a size of every
    page such as the batch.
    """
    symbols: dict[str, int] = {}
    sizes: set[str] = set()
    for name, shape, _ in symbol_table(text):
        for symbol in re.findall(r"\$([^$]+)\$", name):
            symbols[symbol] = symbols.get(symbol, 0) + 1
        sizes |= {letter for tex in re.findall(r"\$([^$]+)\$", shape) for letter in letters(tex)}
    indexed = {found[1] for name in symbols if (found := re.match(r"([A-Za-z])[_^(]", name))}
    sums = set(re.findall(r"\\sum_\{?([a-z])(?![a-z])", formulas(text)))
    twice = {symbol for symbol, rows in symbols.items() if rows > 1}
    return twice | (sizes & indexed) | (sums & (sizes | indexed | SIZES))


def letters(tex: str) -> set[str]:
    """Return the letters of a formula that stand for themselves."""
    return set(re.findall(LETTER, tex))


@page_by_page
def test_no_letter_of_a_page_has_two_meanings(text: str) -> None:
    assert not clashes(text)


@page_by_page
def test_a_score_and_the_additive_network_are_written_alike_everywhere(text: str) -> None:
    shown = formulas(text)
    assert set(re.findall(r"\b(\w+)\(q(?:_i)?, k", shown)) <= {"s", "K"}  # K: a kernel
    assert set(re.findall(r"(\S+)\^\\top *\\tanh", shown)) <= {"u"}


@pytest.mark.parametrize(
    ("text", "letter"),
    [
        ("| $a(q, k)$ | a number | score |\n$$\\sum_{a=1}^{d} q_a$$", "a"),
        ("$$\\sum_{b=1}^{d} k_b$$", "b"),
        ("| $W$ | $a \\times e$ | of width $a$ |\n| $a_{ij}$ | one number | score |", "a"),
        ("| $c_t$ | $c$ | the latent vector |", "c"),
        ("| $w$ | $d$ | one |\n| $w$ | $e$ | another |", "w"),
    ],
)
def test_a_letter_with_two_meanings_is_seen(text: str, letter: str) -> None:
    """As pages had them."""
    assert clashes(text) == {letter}


def labels(figure: Path) -> set[str]:
    """Return the letters, with or without an index, that are texts of a figure."""
    texts = (e.text or "" for e in parse(figure.read_text(encoding="utf-8")).iter("text"))
    return {found[1] for text in texts if (found := re.fullmatch(r"([A-Za-z])[₀-₉]*", text))}


# their letters are the tokens that a model reads, and the names of panels
OTHER_LETTERS = (
    "multi-head/made/attention-maps",
    "bugs-that-train/made/maps",
    "model/alignment/made",
    "model/induction/made",
    "model/language-model/made",
)


@pytest.mark.parametrize("folder", sorted({page.parent for page in PAGES}), ids=lambda p: p.name)
def test_a_letter_in_a_figure_is_a_letter_of_the_pages_formulas(folder: Path) -> None:
    shown = formulas((folder / "index.md").read_text(encoding="utf-8"))
    used = set(re.findall(r"(?<![A-Za-z\\])([A-Za-z])(?![A-Za-z])", shown))
    used |= {letter.lower() for letter in used}  # a row of Q is a q
    figures = [
        f for f in folder.glob("made/*.svg") if not any(o in f.as_posix() for o in OTHER_LETTERS)
    ]
    drawn = {f: labels(f) for f in figures}
    assert {f.name: found - used for f, found in drawn.items() if found - used} == {}


def test_a_letter_of_a_figure_is_seen(tmp_path: Path) -> None:
    (tmp_path / "a.svg").write_text("<svg><text>h₁</text><text>q_proj</text></svg>", "utf-8")
    assert labels(tmp_path / "a.svg") == {"h"}


def test_no_label_multiplies_sizes_by_the_names_of_vectors() -> None:
    """`(q·k)^¼` reads as the root of the score; the sizes are d_q and d_k."""
    written = [*DOCS.rglob("*.toml"), *(ROOT / "attn_docs").rglob("*.py")]
    found = [p for p in written if re.search(r"√\(q·k\)|\(q·k\)\^", p.read_text(encoding="utf-8"))]
    assert not found


# a page counts the same thing there, and says of what more exactly than the table for all pages
NARROWER = {
    "heads/from-multi-head": {"h"},
    "heads/grouped-query": {"g", "h"},
    "heads/latent": {"d"},
    "memory/decode-cost": {"b", "d", "g"},
    "model/language-model": {"n"},
}
# 2026-11-22: still to be given another letter; a line goes when its clash has gone
TO_RENAME = {"position/rotary": {"b"}}
INCLUDED = re.compile(r'--8<-- "(attn_docs/[^":]+\.py)')
COMMENT = re.compile(r"# ((?:[A-Za-z]\w?|\d+)(?: (?:[A-Za-z]\w?|\d+))+)$", re.MULTILINE)


def in_shapes(sources: list[str]) -> set[str]:
    """Return the letters of shapes at the ends of lines, such as `# b h n d`."""
    return {
        letter for text in sources for shape in COMMENT.findall(text) for letter in shape.split()
    }


def renamed_in_formulas(folder: str) -> set[str]:
    """Return the sizes of every page that mean something of a page's own in its formulas."""
    own = load(folder).get("symbols", {})
    return {key for key, symbol in own.items() if key in SIZES and "en" in symbol}


@pytest.mark.parametrize("folder", sorted({p.parent.relative_to(DOCS).as_posix() for p in PAGES}))
def test_a_letter_of_a_formula_is_no_other_size_in_the_code_beside_it(folder: str) -> None:
    page = (DOCS / folder / "index.md").read_text(encoding="utf-8")
    sources = [(ROOT / path).read_text(encoding="utf-8") for path in INCLUDED.findall(page)]
    both = renamed_in_formulas(folder) & in_shapes(sources) - NARROWER.get(folder, set())
    assert both == TO_RENAME.get(folder, set())


def test_letters_of_shapes_are_seen() -> None:
    line = "x = y  # b h n d\n# not a shape, but a sentence\nz = x  # b 1\n"
    assert in_shapes([line]) == {"b", "h", "n", "d", "1"}
